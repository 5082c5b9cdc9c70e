// The database: the four containers as src/documents/cosmosContainers.ts has them (a test compares the two).
param name string
param location string
param tags object
param appPrincipalId string
param privateNetworking bool

@description('0: serverless. Else the highest RU/s that the four containers share.')
param autoscaleMaxRu int

var databaseName = 'payonce'

// Each indexed path costs RU at every write: only what a query uses is indexed. ttl -1: items may have one, none by default.
var containers = [
  {
    name: 'invoices'
    partitionKey: '/shard'
    ttl: -1
    indexed: [
      '/type/?'
      '/status/?'
      '/actionableAt/?'
      '/nextAttemptAt/?'
      '/createdAt/?'
      '/payment/id/?'
      '/payment/unknownSince/?'
    ]
  }
  {
    name: 'workItems'
    partitionKey: '/resourceId'
    ttl: -1
    indexed: ['/status/?']
  }
  {
    name: 'runs'
    partitionKey: '/job'
    ttl: null
    indexed: ['/startedAt/?', '/status/?']
  }
  {
    name: 'audit'
    partitionKey: '/day'
    ttl: null
    indexed: ['/at/?']
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
    // Session consistency and one write region: a claim is a compare-and-swap, and must have one truth.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    enableMultipleWriteLocations: false
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: false
      }
    ]
    capabilities: autoscaleMaxRu == 0 ? [{ name: 'EnableServerless' }] : []
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: 'Continuous7Days'
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

// Roles of the data plane. They are not Azure roles: Cosmos DB keeps them itself.

@description('Read what the SDK asks for when it starts: regions, databases, containers.')
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
}

@description('Add to the audit trail and read it: neither change nor delete what is there.')
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
}

var dataContributorId = '${account.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002'
var roles = [
  {
    name: 'payonce metadata reader'
    id: metadataReader.id
    scope: account.id
    why: 'The SDK reads the account when it starts.'
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
    name: 'payonce audit appender'
    id: auditAppender.id
    scope: '${account.id}/dbs/${databaseName}/colls/audit'
    why: 'Audit records are appended and listed; nobody who takes over the app can rewrite them.'
  }
]

// One after the other: Cosmos DB refuses two changes of an account at once.
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
    dependsOn: [sqlContainers]
  }
]

output id string = account.id
output endpoint string = account.properties.documentEndpoint
