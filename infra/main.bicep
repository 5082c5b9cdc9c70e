// Everything payonce needs in Azure: one resource group, no shared keys.
// az deployment sub create --location westeurope --template-file infra/main.bicep --parameters infra/main.bicepparam
targetScope = 'subscription'

@description('Environment name (dev, test, prod). Part of every resource name.')
@minLength(1)
@maxLength(20)
param environmentName string

@description('Region of all resources. It must offer the Flex Consumption plan.')
param location string

@description('Stripe key (sk_… or rk_…), stored in Key Vault. Empty: leaves the secret unchanged, to be set manually.')
@secure()
param stripeSecretKey string = ''

@description('True: Stripe delivers its events to payments/events, and the secrets that sign them are in Key Vault. False: the app reads the list of events.')
param stripeWebhook bool = false

@description('Signing secrets of the Stripe webhook endpoint (whsec_…, comma-separated), stored in Key Vault. Empty: leaves the secret unchanged.')
@secure()
param stripeWebhookSecrets string = ''

@description('Webhook URL that is notified of invoice outcomes. Empty: no notifications.')
param notifyWebhookUrl string = ''

@description('Secret that signs webhook requests, stored in Key Vault. Empty: leaves the secret unchanged.')
@secure()
param notifyWebhookSecret string = ''

@description('Email addresses for alerts, comma-separated. Empty: alerts appear only in the portal.')
param alertEmail string = ''

@description('Webhooks for alerts, comma-separated: what Teams, PagerDuty or a chat gives you for them. Empty: none.')
@secure()
param alertWebhooks string = ''

@description('Until then alerts are shown and nobody is told (2026-12-01T14:00:00Z): for a first deployment, or maintenance. Empty, or past: everybody is told.')
param alertsQuietUntil string = ''

@description('True: data services are reachable only through private endpoints, and Service Bus is Premium. Cannot be changed after the first deployment.')
param privateNetworking bool = false

@description('With privateNetworking: address space of the network, at least a /23.')
param networkAddressSpace string = '10.80.0.0/16'

@description('With privateNetworking: id of a subnet of yours for the app: at least a /27, delegated to Microsoft.App/environments, used by nothing else, and able to reach api.stripe.com, and the other subnet on ports 443 and 5671. Together with endpointSubnetId. Empty: the deployment creates a network.')
param appSubnetId string = ''

@description('With privateNetworking: id of a subnet of yours for the private endpoints. Together with appSubnetId.')
param endpointSubnetId string = ''

@description('With privateNetworking: id of the resource group that has your privatelink zones (/subscriptions/…/resourceGroups/…). "none": a policy registers the endpoints. Empty: the deployment creates the zones.')
param privateDnsZones string = ''

@description('With privateNetworking, in a network of the deployment: what leaves it has one fixed address, the output EGRESS_ADDRESS.')
param natGateway bool = false

@description('With privateNetworking: ops, Stripe events and the deployment of code are reachable only through a private endpoint.')
param privateInbound bool = false

@description('Address ranges (CIDR) that reach the app and its deployment. Empty: all.')
param allowedAddresses array = []

@description('0: Cosmos DB serverless. Otherwise the autoscale maximum in RU/s (a multiple of 1000). The choice between the two cannot be changed after the first deployment.')
@minValue(0)
param cosmosAutoscaleMaxRu int = 0

@description('Name of the Cosmos DB account. Empty: the one this environment creates. Set it after a restore.')
@maxLength(44)
param cosmosAccountName string = ''

@description('True: Cosmos DB keeps copies in several availability zones. Cannot be changed after the first deployment.')
param cosmosZoneRedundant bool = false

@description('True: the plan spreads the app over availability zones, and two instances of each function are always ready, and billed.')
param planZoneRedundant bool = false

@description('Redundancy of the storage account. Regions without availability zones do not offer ZRS and GZRS.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_GZRS', 'Standard_RAGZRS'])
param storageSku string = 'Standard_ZRS'

@description('Maximum number of app instances.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 100

@description('Memory of an instance, in megabytes: 2048 or 4096. Hostile imports take 600 to 1,700.')
@minValue(2048)
@maxValue(4096)
param instanceMemory int = 2048

@description('Always-ready instances for payments. 0: payments scale to zero.')
@minValue(0)
param alwaysReadyPayments int = 0

@description('Client id of an Entra app registration. Set: every ops call needs a sign-in as well as the function key. Empty: the key is enough.')
param opsClientId string = ''

@description('Object ids of the Entra groups whose members may call ops. Empty: every user in the tenant.')
param opsGroupIds array = []

@description('Client ids of the applications that may request tokens for ops, beside the registration itself. Default: the Azure CLI.')
param opsAllowedApplications array = ['04b07795-8ddb-461a-bbee-02f9e1bf7b46']

@description('Number of invoice shards. Must never change after the first deployment.')
@minValue(1)
@maxValue(256)
param shards int = 16

@description('Number of shard groups, each processed under its own lease. Must not exceed shards, or the app does nothing.')
@minValue(1)
@maxValue(256)
param shardGroups int = 4

@minValue(1)
@maxValue(10000)
@description('Charges a second that the payment account allows, over all instances. Stripe: 25 unless it was raised (https://docs.stripe.com/rate-limits). If it is too high, the pace adapts.')
param paymentRate int = 25

@minValue(30)
@maxValue(36500)
@description('Days after the last change of a settled invoice, after which it goes from the database to blob storage (docs/retention.md says how many days there is room for).')
param keepDays int = 400

@maxLength(32)
@description('Name of this deployment in its payments, where several share a payment account: 2 to 32 lower-case letters, digits or hyphens. Empty: one that is made once. Never change it later.')
param deploymentId string = ''

@description('The store of the locks: blob, cosmos, service-bus, or the address of another store. One with a password belongs in a vault: pass its Key Vault reference.')
param locks string = 'blob'

@description('Schedule for processing due invoices (NCRONTAB with seconds, UTC).')
param invoiceSchedule string = '0 */5 * * * *'

@description('Seconds between two runs of invoiceSchedule. The alerts on runs use it. Change both together.')
@minValue(1)
@maxValue(86400)
param invoiceIntervalSeconds int = 300

@description('Schedule for sweeping the outbox (NCRONTAB with seconds, UTC).')
param outboxSchedule string = '*/30 * * * * *'

@description('True: the app neither claims nor charges, not even in manual runs. Everything else keeps running. For a restore.')
param paymentsPaused bool = false

@description('False: the deployment assigns no Azure roles, which takes Owner or User Access Administrator. The output ROLE_ASSIGNMENTS has them.')
param roleAssignments bool = true

@description('True: the database and the storage account cannot be deleted until their locks are removed.')
param resourceLocks bool = true

@description('Days for which logs, metrics and traces are kept in the workspace.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('True: every read and write of a blob is logged, not only deletions: some 15 million lines a month of an idle app.')
param dataAccessLogs bool = false

@description('Days to which the database can be restored: 7, or 30 at a price. A change of an existing account needs az first (docs/deploy.md).')
@minValue(7)
@maxValue(30)
param cosmosBackupDays int = 7

@description('Days for which archived invoices and receipts can be neither changed nor deleted, by an erasure neither. 0: none.')
@minValue(0)
@maxValue(146000)
param immutableDays int = 0

@description('Budget of the resource group a month, in the currency of the subscription. 0: none. Owners and alertEmail are told at 80 % spent, and when the forecast exceeds it. It stops nothing.')
@minValue(0)
param monthlyBudget int = 0

@description('First day of the month in which the budget began (2026-12-01). Needed with monthlyBudget; never change it afterwards.')
param budgetStart string = ''

@description('Object id of a developer who may debug the app against these data services. Empty: none. Not for production.')
param developerPrincipalId string = ''

@description('Alert threshold: failed attempts to take a held lease within 15 minutes.')
param lockContentionThreshold int = 200

// One environment in one region is one set of names, however they are spelled: `Test` and `test`, `West Europe` and `westeurope`.
var environmentKey = toLower(environmentName)
var region = toLower(replace(location, ' ', ''))
var token = toLower(uniqueString(subscription().id, environmentKey, region))
var ownNetwork = privateNetworking && empty(endpointSubnetId)
var tags = {
  app: 'payonce'
  'azd-env-name': environmentName
}

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: 'rg-payonce-${environmentKey}'
  location: region
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-payonce-${token}'
    location: region
    tags: tags
  }
}

// The code runs as the identity above, which cannot write the package that it is loaded from.
module packageIdentity 'modules/identity.bicep' = {
  name: 'package-identity'
  scope: group
  params: {
    name: 'id-payonce-package-${token}'
    location: region
    tags: tags
  }
}

module network 'modules/network.bicep' = if (ownNetwork) {
  name: 'network'
  scope: group
  params: {
    token: token
    location: region
    tags: tags
    addressSpace: networkAddressSpace
    natGateway: natGateway
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    token: token
    location: region
    tags: tags
    retentionDays: logRetentionDays
    assignRoles: roleAssignments
    appPrincipalId: identity.outputs.principalId
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'stpayonce${token}'
    location: region
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    dataAccessLogs: dataAccessLogs
    immutableDays: immutableDays
    sku: storageSku
    locked: resourceLocks
    assignRoles: roleAssignments
    appPrincipalId: identity.outputs.principalId
    packagePrincipalId: packageIdentity.outputs.principalId
    privateNetworking: privateNetworking
  }
}

module cosmos 'modules/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    name: empty(cosmosAccountName) ? 'cosmos-payonce-${token}' : cosmosAccountName
    location: region
    tags: tags
    backupDays: cosmosBackupDays
    appPrincipalId: identity.outputs.principalId
    autoscaleMaxRu: cosmosAutoscaleMaxRu
    zoneRedundant: cosmosZoneRedundant
    locked: resourceLocks
    workspaceId: monitoring.outputs.workspaceId
    privateNetworking: privateNetworking
  }
}

module serviceBus 'modules/serviceBus.bicep' = {
  name: 'service-bus'
  scope: group
  params: {
    name: 'sb-payonce-${token}'
    location: region
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    assignRoles: roleAssignments
    appPrincipalId: identity.outputs.principalId
    privateNetworking: privateNetworking
  }
}

module keyVault 'modules/keyVault.bicep' = {
  name: 'key-vault'
  scope: group
  params: {
    name: 'kv-${token}'
    location: region
    tags: tags
    assignRoles: roleAssignments
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
    stripeSecretKey: stripeSecretKey
    stripeWebhookSecrets: stripeWebhookSecrets
    notifyWebhookSecret: notifyWebhookSecret
    privateNetworking: privateNetworking
  }
}

module privateEndpoints 'modules/privateEndpoints.bicep' = if (privateNetworking) {
  name: 'private-endpoints'
  scope: group
  params: {
    location: region
    tags: tags
    subnetId: ownNetwork ? network!.outputs.endpointSubnetId : endpointSubnetId
    dnsZones: privateDnsZones
    endpoints: [
      { name: 'blob', resourceId: storage.outputs.id, subresource: 'blob', zone: 'privatelink.blob.${environment().suffixes.storage}' }
      { name: 'queue', resourceId: storage.outputs.id, subresource: 'queue', zone: 'privatelink.queue.${environment().suffixes.storage}' }
      { name: 'table', resourceId: storage.outputs.id, subresource: 'table', zone: 'privatelink.table.${environment().suffixes.storage}' }
      { name: 'cosmos', resourceId: cosmos.outputs.id, subresource: 'Sql', zone: 'privatelink.documents.azure.com' }
      { name: 'service-bus', resourceId: serviceBus.outputs.id, subresource: 'namespace', zone: 'privatelink.servicebus.windows.net' }
      { name: 'key-vault', resourceId: keyVault.outputs.id, subresource: 'vault', zone: 'privatelink.vaultcore.azure.net' }
    ]
  }
}

module functionApp 'modules/functionApp.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    name: 'func-payonce-${token}'
    planName: 'plan-payonce-${token}'
    location: region
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    packageIdentityId: packageIdentity.outputs.id
    storageName: storage.outputs.name
    packageContainerUrl: storage.outputs.packageContainerUrl
    cosmosEndpoint: cosmos.outputs.endpoint
    serviceBusHost: serviceBus.outputs.host
    stripeSecretUri: keyVault.outputs.stripeSecretUri
    stripeWebhook: stripeWebhook
    stripeEventsUri: keyVault.outputs.stripeEventsUri
    notifySecretUri: keyVault.outputs.notifySecretUri
    notifyWebhookUrl: notifyWebhookUrl
    applicationInsightsConnectionString: monitoring.outputs.connectionString
    subnetId: !privateNetworking ? '' : ownNetwork ? network!.outputs.appSubnetId : appSubnetId
    publicInbound: !(privateNetworking && privateInbound)
    allowedAddresses: allowedAddresses
    maximumInstanceCount: maximumInstanceCount
    instanceMemory: instanceMemory
    zoneRedundant: planZoneRedundant
    alwaysReadyPayments: alwaysReadyPayments
    opsClientId: opsClientId
    opsGroupIds: opsGroupIds
    opsAllowedApplications: opsAllowedApplications
    shards: shards
    shardGroups: shardGroups
    paymentRate: paymentRate
    keepDays: keepDays
    deploymentId: deploymentId
    locks: locks
    invoiceSchedule: invoiceSchedule
    outboxSchedule: outboxSchedule
    paymentsPaused: paymentsPaused
  }
  // With private networking, storage and the vault are reachable only through the endpoints. Without them the
  // app cannot start.
  dependsOn: [privateEndpoints]
}

// Its zone has the names of the app and of the site that takes deployments.
module inboundEndpoint 'modules/privateEndpoints.bicep' = if (privateNetworking && privateInbound) {
  name: 'inbound-endpoint'
  scope: group
  params: {
    location: region
    tags: tags
    subnetId: ownNetwork ? network!.outputs.endpointSubnetId : endpointSubnetId
    dnsZones: privateDnsZones
    endpoints: [{ name: 'app', resourceId: functionApp.outputs.id, subresource: 'sites', zone: 'privatelink.azurewebsites.net' }]
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    location: region
    tags: tags
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    serviceBusId: serviceBus.outputs.id
    alertEmail: alertEmail
    alertWebhooks: alertWebhooks
    quietUntil: alertsQuietUntil
    invoiceIntervalSeconds: invoiceIntervalSeconds
    shardGroups: shardGroups
    lockContentionThreshold: lockContentionThreshold
    paymentRate: paymentRate
    runbookUrl: 'https://${functionApp.outputs.hostName}/api/ops/ui/runbook'
  }
}

module budget 'modules/budget.bicep' = if (monthlyBudget > 0) {
  name: 'budget'
  scope: group
  params: {
    amount: monthlyBudget
    start: budgetStart
    alertEmail: alertEmail
  }
}

module developer 'modules/developer.bicep' = if (!empty(developerPrincipalId) && roleAssignments) {
  name: 'developer'
  scope: group
  params: {
    principalId: developerPrincipalId
    storageName: storage.outputs.name
    cosmosName: cosmos.outputs.name
    serviceBusName: serviceBus.outputs.name
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    location: region
    tags: tags
    applicationInsightsId: monitoring.outputs.applicationInsightsId
  }
}

@description('For `func azure functionapp publish` and `az functionapp deployment`.')
output AZURE_FUNCTION_APP_NAME string = functionApp.outputs.name
output AZURE_RESOURCE_GROUP string = group.name
@description('Base URL of ops. Append /ops/health and send a function key.')
output OPS_ADDRESS string = 'https://${functionApp.outputs.hostName}/api'
@description('Vault for the Stripe key: az keyvault secret set --vault-name … --name stripe-secret-key.')
output KEY_VAULT_NAME string = keyVault.outputs.name
output COSMOS_ENDPOINT string = cosmos.outputs.endpoint
@description('The address from which the app calls others, with natGateway.')
output EGRESS_ADDRESS string = ownNetwork ? network!.outputs.egressAddress : ''
output SERVICE_BUS_HOST string = serviceBus.outputs.host
@description('The roles that somebody else has to assign, with roleAssignments false: role, principalId, scope and condition of each.')
output ROLE_ASSIGNMENTS array = roleAssignments
  ? []
  : concat(storage.outputs.assignments, serviceBus.outputs.assignments, keyVault.outputs.assignments, monitoring.outputs.assignments)
