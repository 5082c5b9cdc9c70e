// The queue of payment commands, and one whose sessions are locks. Their properties match
// local/serviceBusConfig.json, which the emulators use, except for the time to live: the emulators allow at most an
// hour, so only this file sets it. They allow at most five minutes of duplicate detection.
param name string
param location string
param tags object
param appPrincipalId string
param privateNetworking bool
param workspaceId string
@description('False: the deployment assigns no Azure roles. Whoever may do so assigns those of the output instead.')
param assignRoles bool

// Duplicate detection needs Standard; private endpoints need Premium.
var tier = privateNetworking ? 'Premium' : 'Standard'

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: tier
    tier: tier
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: privateNetworking ? 'Disabled' : 'Enabled'
  }
}

resource paymentCommands 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = {
  parent: namespace
  name: 'payment-commands'
  properties: {
    // The host renews the lock for up to maxAutoLockRenewalDuration (host.json), so a minute bounds only the
    // delay after a crash.
    lockDuration: 'PT1M'
    maxDeliveryCount: 10
    requiresSession: false
    requiresDuplicateDetection: true
    duplicateDetectionHistoryTimeWindow: 'PT5M'
    defaultMessageTimeToLive: 'P14D'
    deadLetteringOnMessageExpiration: true
  }
}

@description('Used only if LOCKS is service-bus. Each lock is a session. The queue never has a message.')
resource locks 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = {
  parent: namespace
  name: 'locks'
  properties: {
    // The length of every lease. The app checks it.
    lockDuration: 'PT30S'
    maxDeliveryCount: 10
    requiresSession: true
    requiresDuplicateDetection: false
    defaultMessageTimeToLive: 'P14D'
    deadLetteringOnMessageExpiration: false
  }
}

var roles = [
  {
    name: 'Azure Service Bus Data Sender'
    id: '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39'
    why: 'The outbox sends payment commands; ops redrives dead letters.'
  }
  {
    name: 'Azure Service Bus Data Receiver'
    id: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
    why: 'The trigger receives payment commands; ops reads dead letters.'
  }
  {
    name: 'Azure Service Bus Data Owner'
    id: '090c5cfd-751d-490a-894a-3ce6f1109419'
    why: 'The scale controller reads the queue length, which only this role allows; without it a single instance pays.'
  }
]

// Scoped to the queue, not the namespace, so that other queues stay out of reach.
resource roleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in roles: if (assignRoles) {
    name: guid(paymentCommands.id, appPrincipalId, role.id)
    scope: paymentCommands
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
    }
  }
]

var lockRoles = [
  {
    name: 'Azure Service Bus Data Receiver'
    id: '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0'
    why: 'Accepting a session takes a lock; its state keeps the fence.'
  }
]

resource lockRoleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in lockRoles: if (assignRoles) {
    name: guid(locks.id, appPrincipalId, role.id)
    scope: locks
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
    }
  }
]

// Changes of the namespace or its queues, with their caller.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'payonce'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'OperationalLogs', enabled: true }]
  }
}

output id string = namespace.id
output name string = namespace.name
output host string = '${namespace.name}.servicebus.windows.net'
@description('The Azure roles that this module assigns, or would.')
output assignments array = concat(
  map(roles, role => { role: role.name, principalId: appPrincipalId, scope: paymentCommands.id, condition: '' }),
  map(lockRoles, role => { role: role.name, principalId: appPrincipalId, scope: locks.id, condition: '' })
)
