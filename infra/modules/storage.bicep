// Blobs: leases, receipts, what became of imports, archived invoices, what people change, the deployment package. Queues:
// work items. The Functions host also keeps its own blobs, queues and tables here.
param name string
param location string
param tags object
param sku string
param appPrincipalId string
param packagePrincipalId string
param privateNetworking bool
param locked bool
param workspaceId string
@description('True: every read and write of a blob is logged, too, not only deletions.')
param dataAccessLogs bool
@description('Days for which archived invoices and receipts can be neither changed nor deleted. 0: none.')
param immutableDays int
@description('False: the deployment assigns no Azure roles. Whoever may do so assigns those of the output instead.')
param assignRoles bool

var blobContainers = [
  'locks'
  'receipts'
  'imports'
  'archive'
  'changes'
  'packages'
]
var queues = [
  'work-items'
  'work-items-poison'
]

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetworking ? 'Disabled' : 'Enabled'
    networkAcls: {
      // A trusted service runs the lifecycle rule below; without this bypass a closed network would block it
      // (https://learn.microsoft.com/azure/storage/blobs/lifecycle-management-policy-configure).
      bypass: 'AzureServices'
      defaultAction: privateNetworking ? 'Deny' : 'Allow'
    }
  }
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    // Deleted receipts, archived invoices and lock records can be restored. A lock blob must never be lost: its fence
    // would restart at zero. No versions are kept: each renewal of a lease would make one, and an archived invoice is
    // written once.
    deleteRetentionPolicy: {
      enabled: true
      days: 14
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 14
    }
  }
}

// Each work item of a stage with a lease has a lock without a fence, so deleting old ones loses nothing: a held lock cannot be
// deleted, and a deleted one is created again. Locks with a fence are kept.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'delete-old-work-item-locks'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                'locks/work-items/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: 7
                }
              }
            }
          }
        }
        {
          // Archived invoices are seldom read. They must stay readable at once, so they never go to the archive tier.
          name: 'cool-archived-invoices'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                'archive/'
              ]
            }
            actions: {
              baseBlob: {
                tierToCool: {
                  daysAfterModificationGreaterThan: 30
                }
              }
            }
          }
        }
        {
          name: 'delete-old-imports'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: {
              blobTypes: [
                'appendBlob'
              ]
              prefixMatch: [
                'imports/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: 90
                }
              }
            }
          }
        }
        {
          // A restore of the database reads days of it. The rest is for questions about who did what.
          name: 'delete-old-changes'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: {
              blobTypes: [
                'appendBlob'
              ]
              prefixMatch: [
                'changes/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: 400
                }
              }
            }
          }
        }
      ]
    }
  }
  dependsOn: [
    blobService
  ]
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = [
  for container in blobContainers: {
    parent: blobService
    name: container
    properties: {
      publicAccess: 'None'
    }
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource storageQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [
  for queue in queues: {
    parent: queueService
    name: queue
  }
]

// The only copies of what has left the database. The policy is not locked: whoever owns the account can shorten or remove it
// (https://learn.microsoft.com/azure/storage/blobs/immutable-time-based-retention-policy-overview).
resource immutable 'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies@2025-01-01' = [
  for container in ['archive', 'receipts']: if (immutableDays > 0) {
    name: '${account.name}/default/${container}/default'
    properties: {
      immutabilityPeriodSinceCreationInDays: immutableDays
      allowProtectedAppendWrites: false
    }
    dependsOn: [
      containers
    ]
  }
]

// Deletions, with their caller. Reads and writes are some 15 million a month of an idle app, most of them for leases.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'payonce'
  scope: blobService
  properties: {
    workspaceId: workspaceId
    logs: [
      { category: 'StorageDelete', enabled: true }
      { category: 'StorageRead', enabled: dataAccessLogs }
      { category: 'StorageWrite', enabled: dataAccessLogs }
    ]
  }
}

// The app itself deletes no blob. The host and Durable Functions delete theirs, in containers of their own. Of the container with
// the app's own package, the app's identity can only read
// (https://learn.microsoft.com/azure/role-based-access-control/conditions-format).
var ownBlobs = '''
(
  (
    !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete'})
    AND !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/move/action'})
  )
  OR
  (
    @Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] ForAnyOfAllValues:StringNotEquals {'locks', 'receipts', 'imports', 'archive', 'changes', 'packages'}
  )
)
AND
(
  (
    !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write'})
    AND !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action'})
  )
  OR
  (
    @Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals 'packages'
  )
)
'''

var roles = [
  {
    name: 'Storage Blob Data Owner'
    id: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
    why: 'Leases and receipts; the Functions host keeps its own leases and keys in blobs and requires this role.'
    condition: ownBlobs
  }
  {
    name: 'Storage Queue Data Contributor'
    id: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
    why: 'Work items are sent, received and moved to the poison queue; Durable Functions creates its own queues.'
    condition: ''
  }
  {
    name: 'Storage Table Data Contributor'
    id: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
    why: 'Durable Functions keeps the history of manual runs in tables.'
    condition: ''
  }
]

resource roleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in roles: if (assignRoles) {
    name: guid(account.id, appPrincipalId, role.id)
    scope: account
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
      condition: empty(role.condition) ? null : role.condition
      conditionVersion: empty(role.condition) ? null : '2.0'
    }
  }
]

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' existing = {
  parent: blobService
  name: 'packages'
}

var packageRoles = [
  {
    name: 'Storage Blob Data Contributor'
    id: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
    why: 'At a deployment the platform writes the package as this identity, and reads it when an instance starts.'
  }
]

resource packageRoleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in packageRoles: if (assignRoles) {
    name: guid(packages.id, packagePrincipalId, role.id)
    scope: packages
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: packagePrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
    }
    dependsOn: [
      containers
    ]
  }
]

// A lock blob must never be lost: its fence would restart below those that the database has seen.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  name: 'payonce-data'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds what payonce must not lose (docs/deploy.md).'
  }
}

output id string = account.id
output name string = account.name
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}packages'
@description('The Azure roles that this module assigns, or would.')
output assignments array = concat(
  map(roles, role => { role: role.name, principalId: appPrincipalId, scope: account.id, condition: role.condition }),
  map(packageRoles, role => { role: role.name, principalId: packagePrincipalId, scope: packages.id, condition: '' })
)
