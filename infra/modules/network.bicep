// A network for the app and for the private endpoints of the services it uses.
param name string
param location string
param tags object

resource network 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: ['10.80.0.0/16']
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.80.0.0/24'
          // Required by the Flex Consumption plan.
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.80.1.0/24'
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }
}

output id string = network.id
output appSubnetId string = '${network.id}/subnets/app'
output endpointSubnetId string = '${network.id}/subnets/endpoints'
