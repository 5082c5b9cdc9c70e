// Everything payonce needs in Azure: one resource group, no shared key anywhere.
// az deployment sub create --location westeurope --template-file infra/main.bicep --parameters infra/main.bicepparam
targetScope = 'subscription'

@description('Name of the environment (dev, test, prod): part of the names of all resources.')
@minLength(1)
@maxLength(20)
param environmentName string

@description('Region of all resources. Must offer the Flex Consumption plan.')
param location string

@description('Stripe key (sk_… or rk_…). Kept in Key Vault. Empty: the secret is left as it is, to be set by hand.')
@secure()
param stripeSecretKey string = ''

@description('Address that hears what becomes of invoices. Empty: nobody is told.')
param notifyWebhookUrl string = ''

@description('Secret that signs what is sent there. Kept in Key Vault. Empty: the secret is left as it is.')
@secure()
param notifyWebhookSecret string = ''

@description('Where alerts go. Empty: alerts are only shown in the portal.')
param alertEmail string = ''

@description('True: data services are reachable only through private endpoints, and Service Bus is Premium. Fixed at the first deployment.')
param privateNetworking bool = false

@description('0: Cosmos DB serverless. Else the highest RU/s of autoscale (1000 or more, in thousands). Which of the two is fixed at the first deployment.')
@minValue(0)
param cosmosAutoscaleMaxRu int = 0

@description('Name of the Cosmos DB account, where it is not to be the one of this environment: after a restore.')
@maxLength(44)
param cosmosAccountName string = ''

@description('Redundancy of the storage account. Regions without availability zones do not offer ZRS and GZRS.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_GZRS', 'Standard_RAGZRS'])
param storageSku string = 'Standard_ZRS'

@description('Most instances of the app at one time.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 100

@description('Instances for payments that are kept warm; 0 lets payments scale to zero.')
@minValue(0)
param alwaysReadyPayments int = 0

@description('Client id of an Entra app registration. Given: every ops call must be signed in, on top of the key. Empty: the key is enough.')
param opsClientId string = ''

@description('Entra groups (object ids) whose members may call ops. Empty: all users of the tenant.')
param opsGroupIds array = []

@description('Shards of the invoices. Fixed at the first deployment: it must not be changed afterwards.')
@minValue(1)
@maxValue(256)
param shards int = 16

@description('Groups of shards, each processed under a lease of its own. At most as many as shards: with more the app does not start.')
@minValue(1)
@maxValue(256)
param shardGroups int = 4

@description('When due invoices are processed (NCRONTAB with seconds, UTC).')
param invoiceSchedule string = '0 */5 * * * *'

@description('Seconds between two runs of invoiceSchedule: what alerts on runs count in. Change both together.')
@minValue(1)
@maxValue(86400)
param invoiceIntervalSeconds int = 300

@description('When the outbox is swept (NCRONTAB with seconds, UTC).')
param outboxSchedule string = '*/30 * * * * *'

@description('True: the app neither claims nor charges, also by no run that is started by hand; everything else of it runs. For a restore.')
param paymentsPaused bool = false

@description('Attempts to take a held lease within 15 minutes, above which an alert is raised.')
param lockContentionThreshold int = 200

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  app: 'payonce'
  'azd-env-name': environmentName
}

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: 'rg-payonce-${environmentName}'
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-payonce-${token}'
    location: location
    tags: tags
  }
}

module network 'modules/network.bicep' = if (privateNetworking) {
  name: 'network'
  scope: group
  params: {
    name: 'vnet-payonce-${token}'
    location: location
    tags: tags
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    token: token
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'stpayonce${token}'
    location: location
    tags: tags
    sku: storageSku
    appPrincipalId: identity.outputs.principalId
    privateNetworking: privateNetworking
  }
}

module cosmos 'modules/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    name: empty(cosmosAccountName) ? 'cosmos-payonce-${token}' : cosmosAccountName
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
    autoscaleMaxRu: cosmosAutoscaleMaxRu
    privateNetworking: privateNetworking
  }
}

module serviceBus 'modules/serviceBus.bicep' = {
  name: 'service-bus'
  scope: group
  params: {
    name: 'sb-payonce-${token}'
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
    privateNetworking: privateNetworking
  }
}

module keyVault 'modules/keyVault.bicep' = {
  name: 'key-vault'
  scope: group
  params: {
    name: 'kv-${token}'
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
    stripeSecretKey: stripeSecretKey
    notifyWebhookSecret: notifyWebhookSecret
    privateNetworking: privateNetworking
  }
}

module privateEndpoints 'modules/privateEndpoints.bicep' = if (privateNetworking) {
  name: 'private-endpoints'
  scope: group
  params: {
    location: location
    tags: tags
    networkId: network!.outputs.id
    subnetId: network!.outputs.endpointSubnetId
    storageId: storage.outputs.id
    cosmosId: cosmos.outputs.id
    serviceBusId: serviceBus.outputs.id
    keyVaultId: keyVault.outputs.id
  }
}

module functionApp 'modules/functionApp.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    name: 'func-payonce-${token}'
    planName: 'plan-payonce-${token}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    storageName: storage.outputs.name
    packageContainerUrl: storage.outputs.packageContainerUrl
    cosmosEndpoint: cosmos.outputs.endpoint
    serviceBusHost: serviceBus.outputs.host
    stripeSecretUri: keyVault.outputs.stripeSecretUri
    notifySecretUri: keyVault.outputs.notifySecretUri
    notifyWebhookUrl: notifyWebhookUrl
    applicationInsightsConnectionString: monitoring.outputs.connectionString
    subnetId: privateNetworking ? network!.outputs.appSubnetId : ''
    maximumInstanceCount: maximumInstanceCount
    alwaysReadyPayments: alwaysReadyPayments
    opsClientId: opsClientId
    opsGroupIds: opsGroupIds
    shards: shards
    shardGroups: shardGroups
    invoiceSchedule: invoiceSchedule
    outboxSchedule: outboxSchedule
    paymentsPaused: paymentsPaused
  }
  // With private networking nothing else leads to storage and the vault: before the endpoints the app could not start.
  dependsOn: [privateEndpoints]
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    location: location
    tags: tags
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    serviceBusId: serviceBus.outputs.id
    alertEmail: alertEmail
    invoiceIntervalSeconds: invoiceIntervalSeconds
    shardGroups: shardGroups
    lockContentionThreshold: lockContentionThreshold
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    location: location
    tags: tags
    applicationInsightsId: monitoring.outputs.applicationInsightsId
  }
}

@description('For `func azure functionapp publish` and `az functionapp deployment`.')
output AZURE_FUNCTION_APP_NAME string = functionApp.outputs.name
output AZURE_RESOURCE_GROUP string = group.name
@description('Where ops answers: add /ops/health and a function key.')
output OPS_ADDRESS string = 'https://${functionApp.outputs.hostName}/api'
@description('Where the Stripe key goes: az keyvault secret set --vault-name … --name stripe-secret-key.')
output KEY_VAULT_NAME string = keyVault.outputs.name
output COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output SERVICE_BUS_HOST string = serviceBus.outputs.host
