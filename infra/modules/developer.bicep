// The roles with which a developer runs the app on a laptop against the data services of this environment: the data roles of the
// app, for their own principal. Not for production.
param principalId string
param storageName string
param cosmosName string
param serviceBusName string

resource storage 'Microsoft.Storage/storageAccounts@2025-01-01' existing = {
  name: storageName
}

resource cosmos 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' existing = {
  name: cosmosName
}

resource serviceBus 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: serviceBusName
}

var storageRoles = [
  {
    name: 'Storage Blob Data Owner'
    id: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
    why: 'Leases, receipts, and what the Functions host keeps in blobs.'
  }
  {
    name: 'Storage Queue Data Contributor'
    id: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
    why: 'Work items, and the queues of Durable Functions.'
  }
  {
    name: 'Storage Table Data Contributor'
    id: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
    why: 'The history of manual runs.'
  }
]

resource storageAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in storageRoles: {
    name: guid(storage.id, principalId, role.id)
    scope: storage
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: principalId
      principalType: 'User'
      description: role.why
    }
  }
]

var serviceBusRoles = [
  {
    name: 'Azure Service Bus Data Owner'
    id: '090c5cfd-751d-490a-894a-3ce6f1109419'
    why: 'Sends and receives payment commands, reads dead letters.'
  }
]

resource serviceBusAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in serviceBusRoles: {
    name: guid(serviceBus.id, principalId, role.id)
    scope: serviceBus
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: principalId
      principalType: 'User'
      description: role.why
    }
  }
]

var cosmosRoles = [
  {
    name: 'Cosmos DB Built-in Data Contributor'
    id: '${cosmos.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002'
    scope: cosmos.id
    why: 'Reads and writes every container, the audit trail included.'
  }
]

@batchSize(1)
resource cosmosAssignments 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [
  for role in cosmosRoles: {
    parent: cosmos
    name: guid(role.scope, principalId, role.name)
    properties: {
      roleDefinitionId: role.id
      principalId: principalId
      scope: role.scope
    }
  }
]
