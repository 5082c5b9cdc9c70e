// A network for the app and for the private endpoints of the services it uses.
param token string
param location string
param tags object

@description('At least a /23: the first /24 is for the app, the second for the endpoints.')
param addressSpace string

@description('True: a fixed address for what leaves the network.')
param natGateway bool

// The rules that each group has: from outside the network nothing comes in.
resource appRules 'Microsoft.Network/networkSecurityGroups@2024-07-01' = {
  name: 'nsg-payonce-app-${token}'
  location: location
  tags: tags
}

// HTTPS, and AMQP of Service Bus, from inside the network and from networks that are peered with it.
resource endpointRules 'Microsoft.Network/networkSecurityGroups@2024-07-01' = {
  name: 'nsg-payonce-endpoints-${token}'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'allow-services'
        properties: {
          priority: 100
          direction: 'Inbound'
          access: 'Allow'
          protocol: 'Tcp'
          sourceAddressPrefix: 'VirtualNetwork'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRanges: ['443', '5671']
        }
      }
      {
        name: 'deny-inbound'
        properties: {
          priority: 4096
          direction: 'Inbound'
          access: 'Deny'
          protocol: '*'
          sourceAddressPrefix: '*'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

resource egressAddress 'Microsoft.Network/publicIPAddresses@2024-07-01' = if (natGateway) {
  name: 'pip-payonce-${token}'
  location: location
  tags: tags
  sku: {
    name: 'Standard'
  }
  properties: {
    publicIPAllocationMethod: 'Static'
  }
}

resource gateway 'Microsoft.Network/natGateways@2024-07-01' = if (natGateway) {
  name: 'ng-payonce-${token}'
  location: location
  tags: tags
  sku: {
    name: 'Standard'
  }
  properties: {
    publicIpAddresses: [{ id: egressAddress.id }]
  }
}

resource network 'Microsoft.Network/virtualNetworks@2024-07-01' = {
  name: 'vnet-payonce-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [addressSpace]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: cidrSubnet(addressSpace, 24, 0)
          networkSecurityGroup: {
            id: appRules.id
          }
          natGateway: natGateway ? { id: gateway.id } : null
          // Without a gateway the app still has to reach the payment provider.
          defaultOutboundAccess: !natGateway
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
          addressPrefix: cidrSubnet(addressSpace, 24, 1)
          networkSecurityGroup: {
            id: endpointRules.id
          }
          defaultOutboundAccess: false
          // The rules above apply to the endpoints, too.
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }
}

output appSubnetId string = '${network.id}/subnets/app'
output endpointSubnetId string = '${network.id}/subnets/endpoints'
output egressAddress string = natGateway ? egressAddress!.properties.ipAddress : ''
