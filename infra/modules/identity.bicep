// An identity of the app: the one that its code uses, or the one by which the platform writes and reads its package. Each
// resource's module assigns the roles and gives the reason.
param name string
param location string
param tags object

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: name
  location: location
  tags: tags
}

output id string = identity.id
output clientId string = identity.properties.clientId
output principalId string = identity.properties.principalId
