// The app's secrets: the payment provider's key, what signs its events, and what signs our webhook.
param name string
param location string
param tags object
param appPrincipalId string
param privateNetworking bool
param workspaceId string
@description('False: the deployment assigns no Azure roles. Whoever may do so assigns those of the output instead.')
param assignRoles bool

@secure()
param stripeSecretKey string

@secure()
param stripeWebhookSecrets string

@secure()
param notifyWebhookSecret string

var stripeSecretName = 'stripe-secret-key'
var stripeWebhookSecretsName = 'stripe-webhook-secrets'
var notifySecretName = 'notify-webhook-secret'

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    enablePurgeProtection: true
    publicNetworkAccess: privateNetworking ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: privateNetworking ? 'Deny' : 'Allow'
    }
  }
}

resource stripeSecret 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(stripeSecretKey)) {
  parent: vault
  name: stripeSecretName
  properties: {
    value: stripeSecretKey
    contentType: 'Stripe API key'
  }
}

resource stripeWebhookSecret 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(stripeWebhookSecrets)) {
  parent: vault
  name: stripeWebhookSecretsName
  properties: {
    value: stripeWebhookSecrets
    contentType: 'Stripe webhook signing secrets, comma-separated'
  }
}

resource notifySecret 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(notifyWebhookSecret)) {
  parent: vault
  name: notifySecretName
  properties: {
    value: notifyWebhookSecret
    contentType: 'HMAC secret'
  }
}

var roles = [
  {
    name: 'Key Vault Secrets User'
    id: '4633458b-17de-408a-b874-0445c86b69e6'
    why: 'The settings STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRETS and NOTIFY_WEBHOOK_SECRET reference secrets in this vault.'
  }
]

resource roleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in roles: if (assignRoles) {
    name: guid(vault.id, appPrincipalId, role.id)
    scope: vault
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
    }
  }
]

// Reads and changes of secrets, with their caller.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'payonce'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logs: [{ categoryGroup: 'audit', enabled: true }]
  }
}

output id string = vault.id
output name string = vault.name
// No version, so the app picks up a rotated key within a day or when the references are refreshed. Such a URI
// ends with a slash.
output stripeSecretUri string = '${vault.properties.vaultUri}secrets/${stripeSecretName}/'
output stripeEventsUri string = '${vault.properties.vaultUri}secrets/${stripeWebhookSecretsName}/'
output notifySecretUri string = '${vault.properties.vaultUri}secrets/${notifySecretName}/'
@description('The Azure roles that this module assigns, or would.')
output assignments array = map(roles, role => { role: role.name, principalId: appPrincipalId, scope: vault.id, condition: '' })
