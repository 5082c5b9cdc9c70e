// A private endpoint and a private DNS zone for every service the app uses.
param location string
param tags object
param networkId string
param subnetId string
param storageId string
param cosmosId string
param serviceBusId string
param keyVaultId string

var endpoints = [
  { name: 'blob', resourceId: storageId, subresource: 'blob', zone: 'privatelink.blob.${environment().suffixes.storage}' }
  { name: 'queue', resourceId: storageId, subresource: 'queue', zone: 'privatelink.queue.${environment().suffixes.storage}' }
  { name: 'table', resourceId: storageId, subresource: 'table', zone: 'privatelink.table.${environment().suffixes.storage}' }
  { name: 'cosmos', resourceId: cosmosId, subresource: 'Sql', zone: 'privatelink.documents.azure.com' }
  { name: 'service-bus', resourceId: serviceBusId, subresource: 'namespace', zone: 'privatelink.servicebus.windows.net' }
  { name: 'key-vault', resourceId: keyVaultId, subresource: 'vault', zone: 'privatelink.vaultcore.azure.net' }
]

resource zones 'Microsoft.Network/privateDnsZones@2020-06-01' = [
  for endpoint in endpoints: {
    name: endpoint.zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = [
  for (endpoint, index) in endpoints: {
    parent: zones[index]
    name: 'payonce'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: networkId
      }
    }
  }
]

// One at a time: three of them belong to the storage account, which refuses a change while another is under way
// (StorageAccountOperationInProgress).
@batchSize(1)
resource privateEndpoints 'Microsoft.Network/privateEndpoints@2024-07-01' = [
  for endpoint in endpoints: {
    name: 'pe-payonce-${endpoint.name}'
    location: location
    tags: tags
    properties: {
      subnet: {
        id: subnetId
      }
      privateLinkServiceConnections: [
        {
          name: endpoint.name
          properties: {
            privateLinkServiceId: endpoint.resourceId
            groupIds: [endpoint.subresource]
          }
        }
      ]
    }
  }
]

resource zoneGroups 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-07-01' = [
  for (endpoint, index) in endpoints: {
    parent: privateEndpoints[index]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: endpoint.name
          properties: {
            privateDnsZoneId: zones[index].id
          }
        }
      ]
    }
  }
]
