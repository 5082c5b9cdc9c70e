// Private endpoints, with a private DNS zone for each unless the network has its own.
param location string
param tags object
param subnetId string

@description('name, resourceId, subresource and zone of each.')
param endpoints array

@description('Empty: the zones are created here and linked to the network. "none": somebody else, such as a policy, registers the endpoints. Otherwise the id of the resource group that has the zones.')
param dnsZones string

var ownZones = empty(dnsZones)
var networkId = split(subnetId, '/subnets/')[0]

resource zones 'Microsoft.Network/privateDnsZones@2020-06-01' = [
  for endpoint in endpoints: if (ownZones) {
    name: endpoint.zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2020-06-01' = [
  for (endpoint, index) in endpoints: if (ownZones) {
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

// One at a time: three of them belong to the storage account, which refuses a change while another is in progress
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
  for (endpoint, index) in endpoints: if (dnsZones != 'none') {
    parent: privateEndpoints[index]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: endpoint.name
          properties: {
            privateDnsZoneId: ownZones
              ? zones[index].id
              : '${dnsZones}/providers/Microsoft.Network/privateDnsZones/${endpoint.zone}'
          }
        }
      ]
    }
  }
]
