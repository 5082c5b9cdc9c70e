// The database. Its six containers match src/platform/cosmosContainers.ts (a test compares the two).
param name string
param location string
param tags object
param appPrincipalId string
param privateNetworking bool
param workspaceId string
param locked bool
param zoneRedundant bool
param backupDays int

@description('0: serverless. Otherwise the maximum RU/s, shared by the six containers.')
param autoscaleMaxRu int

var databaseName = 'payonce'

// Every indexed path costs RU on each write, so only paths used by queries are indexed. The partition key is one of
// them: the service indexes it only if the policy says so (https://learn.microsoft.com/azure/cosmos-db/index-policy).
// ttl: seconds; -1: no expiry by default; an item may set its own (docs/retention.md).
var containers = [
  {
    name: 'invoices'
    partitionKey: '/shard'
    ttl: -1
    indexed: [
      '/shard/?'
      '/type/?'
      '/status/?'
      '/actionableAt/?'
      '/nextAttemptAt/?'
      '/createdAt/?'
      '/customerId/?'
      '/currency/?'
      '/payment/id/?'
      '/payment/paidAt/?'
      '/payment/keyCreatedAt/?'
      '/payment/unknownSince/?'
      '/payment/inProgress/since/?'
      '/checkAt/?'
      '/dueAt/?'
      '/terms/[]/?'
      '/timeline/[]/runId/?'
      '/amountMinor/?'
      '/reversals/refundedMinor/?'
      '/reversals/disputedMinor/?'
    ]
  }
  {
    name: 'workItems'
    partitionKey: '/resourceId'
    ttl: -1
    indexed: ['/resourceId/?', '/status/?']
  }
  {
    name: 'runs'
    partitionKey: '/job'
    // 400 days.
    ttl: 34560000
    indexed: ['/job/?', '/startedAt/?', '/status/?']
  }
  {
    name: 'pace'
    partitionKey: '/limit'
    ttl: null
    indexed: ['/limit/?']
  }
  {
    name: 'audit'
    partitionKey: '/day'
    // Ten years: docs/retention.md.
    ttl: 315360000
    indexed: ['/day/?', '/at/?', '/target/?']
  }
  {
    // Used only if LOCKS is cosmos. A lease ends with the TTL of its item.
    name: 'locks'
    partitionKey: '/lock'
    ttl: -1
    indexed: ['/lock/?', '/key/?']
  }
]

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' = {
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: privateNetworking ? 'Disabled' : 'Enabled'
    // Session consistency and one write region: a claim is a compare-and-swap and needs one source of truth.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    enableMultipleWriteLocations: false
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: zoneRedundant
      }
    ]
    capabilities: autoscaleMaxRu == 0 ? [{ name: 'EnableServerless' }] : []
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: 'Continuous${backupDays}Days'
      }
    }
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: {
      id: databaseName
    }
    options: autoscaleMaxRu == 0 ? {} : { autoscaleSettings: { maxThroughput: autoscaleMaxRu } }
  }
}

// One at a time, for the same reason as the roles below.
@batchSize(1)
resource sqlContainers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = [
  for container in containers: {
    parent: database
    name: container.name
    properties: {
      resource: {
        id: container.name
        partitionKey: {
          kind: 'Hash'
          version: 2
          paths: [container.partitionKey]
        }
        defaultTtl: container.ttl
        indexingPolicy: {
          indexingMode: 'consistent'
          automatic: true
          includedPaths: map(container.indexed, path => { path: path })
          excludedPaths: [{ path: '/*' }]
        }
      }
    }
  }
]

// Data plane roles. They are not Azure roles: Cosmos DB manages them itself. It refuses one change of an account while
// another is in progress (412), so the two definitions wait for the containers and for each other.

@description('Reads the metadata that the SDK requests at startup: regions, databases, containers.')
resource metadataReader 'Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions@2025-04-15' = {
  parent: account
  name: guid(account.id, 'metadata-reader')
  properties: {
    roleName: 'payonce metadata reader'
    type: 'CustomRole'
    assignableScopes: [account.id]
    permissions: [
      {
        dataActions: ['Microsoft.DocumentDB/databaseAccounts/readMetadata']
      }
    ]
  }
  dependsOn: [sqlContainers]
}

@description('Appends to the audit trail and reads it. Cannot change or delete records.')
resource auditAppender 'Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions@2025-04-15' = {
  parent: account
  name: guid(account.id, 'audit-appender')
  properties: {
    roleName: 'payonce audit appender'
    type: 'CustomRole'
    assignableScopes: [account.id]
    permissions: [
      {
        dataActions: [
          'Microsoft.DocumentDB/databaseAccounts/readMetadata'
          'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/executeQuery'
          'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/items/create'
          'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers/items/read'
        ]
      }
    ]
  }
  dependsOn: [metadataReader]
}

var dataContributorId = '${account.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002'
var roles = [
  {
    name: 'payonce metadata reader'
    id: metadataReader.id
    scope: account.id
    why: 'The SDK reads account metadata at startup.'
  }
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: dataContributorId
    scope: '${account.id}/dbs/${databaseName}/colls/invoices'
    why: 'Invoices, outbox messages and fences are created, read, queried and patched.'
  }
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: dataContributorId
    scope: '${account.id}/dbs/${databaseName}/colls/workItems'
    why: 'Effects of work items are created and read.'
  }
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: dataContributorId
    scope: '${account.id}/dbs/${databaseName}/colls/runs'
    why: 'Run records are created, patched and listed.'
  }
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: dataContributorId
    scope: '${account.id}/dbs/${databaseName}/colls/pace'
    why: 'The schedules by which instances share the payment rate are created, read and patched.'
  }
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: dataContributorId
    scope: '${account.id}/dbs/${databaseName}/colls/locks'
    why: 'Leases and their records are created, read, queried, patched and deleted.'
  }
  {
    name: 'payonce audit appender'
    id: auditAppender.id
    scope: '${account.id}/dbs/${databaseName}/colls/audit'
    why: 'Audit records are appended and listed; an attacker who takes over the app cannot rewrite them.'
  }
]

// One at a time: Cosmos DB rejects concurrent changes to an account.
@batchSize(1)
resource roleAssignments 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [
  for role in roles: {
    parent: account
    name: guid(role.scope, appPrincipalId, role.name)
    properties: {
      roleDefinitionId: role.id
      principalId: appPrincipalId
      scope: role.scope
    }
  }
]

// The database is the only record of what was paid. A lock stops a deletion of the group by mistake.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (locked) {
  name: 'payonce-data'
  scope: account
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds what payonce must not lose (docs/deploy.md).'
  }
}

// Changes of the account: keys, network, failover. Requests to the data are not logged: at 10 million invoices they
// would cost more than the database.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'payonce'
  scope: account
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'ControlPlaneRequests', enabled: true }]
  }
}

output id string = account.id
output name string = account.name
output endpoint string = account.properties.documentEndpoint
