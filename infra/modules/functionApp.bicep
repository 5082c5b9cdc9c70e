// The app on a Flex Consumption plan, and its settings. A test compares them with those the code reads.
param name string
param planName string
param location string
param tags object
param identityId string
param identityClientId string
param packageIdentityId string
param storageName string
param packageContainerUrl string
param cosmosEndpoint string
param serviceBusHost string
param stripeSecretUri string
param stripeWebhook bool
param stripeEventsUri string
param notifySecretUri string
param notifyWebhookUrl string
param applicationInsightsConnectionString string
param workspaceId string

@description('Subnet for outbound traffic. Empty: none.')
param subnetId string

@description('False: only a private endpoint reaches the app and its deployment.')
param publicInbound bool
@description('Address ranges that reach the app and its deployment. Empty: all.')
param allowedAddresses array

param maximumInstanceCount int
param instanceMemory int
param zoneRedundant bool
param alwaysReadyPayments int
param opsClientId string
param opsGroupIds array
param opsAllowedApplications array
param shards int
param shardGroups int
param paymentRate int
param keepDays int
param deploymentId string
param locks string
param invoiceSchedule string
param outboxSchedule string
param paymentsPaused bool

var signIn = !empty(opsClientId)

// Routes without a sign-in, each exactly: below a wildcard, `%2e%2e` could lead to any other. The dashboard's page holds no
// data. Stripe cannot sign in: its signature is the credential, and the app checks it.
var openPaths = concat(
  map(
    ['', '/', '/assets/index.css', '/assets/index.js', '/icon.svg', '/audit', '/customers', '/import', '/invoices', '/leases', '/messages', '/report', '/runbook', '/runs', '/search'],
    path => '/api/ops/ui${path}'
  ),
  ['/api/payments/events']
)

// No keys: the app reaches every service with its managed identity.
var appSettings = {
  AZURE_CLIENT_ID: identityClientId
  AzureWebJobsStorage__accountName: storageName
  AzureWebJobsStorage__credential: 'managedidentity'
  AzureWebJobsStorage__clientId: identityClientId
  Cosmos__accountEndpoint: cosmosEndpoint
  Cosmos__credential: 'managedidentity'
  Cosmos__clientId: identityClientId
  ServiceBus__fullyQualifiedNamespace: serviceBusHost
  ServiceBus__credential: 'managedidentity'
  ServiceBus__clientId: identityClientId
  APPLICATIONINSIGHTS_CONNECTION_STRING: applicationInsightsConnectionString
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  // The host reports every invocation: by default it would export five traces a second, and drop the logs of the others.
  OTEL_TRACES_SAMPLER: 'microsoft.fixed_percentage'
  OTEL_TRACES_SAMPLER_ARG: '1.0'
  TRACE_SAMPLE: '0.1'
  // 14 MB: the host holds a body as a whole before the app sees it. Imports take 12 MB, and the app says so
  // (https://learn.microsoft.com/azure/azure-functions/functions-app-settings#functions_request_body_size_limit).
  FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '14680064'
  STRIPE_SECRET_KEY: '@Microsoft.KeyVault(SecretUri=${stripeSecretUri})'
  STRIPE_API_BASE: 'https://api.stripe.com'
  // The app treats an empty setting as unset.
  STRIPE_WEBHOOK_SECRETS: stripeWebhook ? '@Microsoft.KeyVault(SecretUri=${stripeEventsUri})' : ''
  NOTIFY_WEBHOOK_URL: notifyWebhookUrl
  NOTIFY_WEBHOOK_SECRET: empty(notifyWebhookUrl) ? '' : '@Microsoft.KeyVault(SecretUri=${notifySecretUri})'
  INVOICE_SCHEDULE: invoiceSchedule
  OUTBOX_SCHEDULE: outboxSchedule
  SHARDS: string(shards)
  SHARD_GROUPS: string(shardGroups)
  BATCH_SIZE: '50'
  LEASE_SECONDS: '30'
  LOCKS: locks
  CLAIM_STALE_SECONDS: '300'
  PAYMENT_TIMEOUT_SECONDS: '30'
  PAYMENT_RATE: string(paymentRate)
  KEEP_DAYS: string(keepDays)
  DEPLOYMENT_ID: deploymentId
  // The app refuses every call if the platform does not sign callers in after all.
  OPS_SIGN_IN: signIn ? 'required' : ''
}

// Stops claiming and charging, by timer and in manual runs, which would claim too. Everything else keeps
// running (https://learn.microsoft.com/azure/azure-functions/disable-function).
var pause = {
  'AzureWebJobs.processInvoices.Disabled': 'true'
  'AzureWebJobs.executePayments.Disabled': 'true'
  'AzureWebJobs.startRun.Disabled': 'true'
  'AzureWebJobs.runJobGroup.Disabled': 'true'
}

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'payonce' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
      '${packageIdentityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    publicNetworkAccess: publicInbound ? 'Enabled' : 'Disabled'
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      runtime: {
        name: 'node'
        version: '24'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: packageIdentityId
          }
        }
      }
      // On this plan every function that is not HTTP or durable scales separately, so payments alone can be
      // kept warm.
      scaleAndConcurrency: {
        maximumInstanceCount: maximumInstanceCount
        instanceMemoryMB: instanceMemory
        alwaysReady: alwaysReadyPayments == 0
          ? []
          : [{ name: 'function:executePayments', instanceCount: alwaysReadyPayments }]
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      ipSecurityRestrictionsDefaultAction: empty(allowedAddresses) ? 'Allow' : 'Deny'
      ipSecurityRestrictions: [
        for (range, index) in allowedAddresses: {
          name: 'allowed-${index + 1}'
          priority: 100 + index
          action: 'Allow'
          ipAddress: range
        }
      ]
      // Code is deployed from the same addresses.
      scmIpSecurityRestrictionsUseMain: true
      appSettings: map(
        items(union(appSettings, paymentsPaused ? pause : {})),
        setting => { name: setting.key, value: setting.value }
      )
    }
  }
}

// No publishing with a password: deployments use an identity.
resource publishingByKudu 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

resource publishingByFtp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

// Deployed even without sign-in: otherwise settings from an earlier deployment would keep requiring one.
resource authentication 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: {
      enabled: signIn
    }
    globalValidation: {
      requireAuthentication: signIn
      unauthenticatedClientAction: signIn ? 'Return401' : 'AllowAnonymous'
      excludedPaths: openPaths
    }
    identityProviders: signIn
      ? {
          azureActiveDirectory: {
            enabled: true
            registration: {
              clientId: opsClientId
              openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
            }
            validation: {
              allowedAudiences: ['api://${opsClientId}', opsClientId]
              // Without a list of applications, any service principal of the tenant could get a token for this one and
              // call ops (https://learn.microsoft.com/azure/app-service/configure-authentication-provider-aad).
              defaultAuthorizationPolicy: union(
                { allowedApplications: concat([opsClientId], opsAllowedApplications) },
                empty(opsGroupIds) ? {} : { allowedPrincipals: { groups: opsGroupIds } }
              )
            }
          }
        }
      : {}
    login: {
      tokenStore: {
        enabled: false
      }
    }
  }
}

// Sign-ins. The log of the app and its host is in Application Insights already.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (signIn) {
  name: 'payonce'
  scope: app
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'AppServiceAuthenticationLogs', enabled: true }]
  }
}

output id string = app.id
output name string = app.name
output hostName string = app.properties.defaultHostName
