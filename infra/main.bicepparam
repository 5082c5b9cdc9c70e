// Values come from environment variables. azd sets the first two; a shell or a pipeline may set the rest. An
// unset or empty variable gives the default in main.bicep. Every deployment sets every parameter: one that is
// omitted reverts to its default, so pipelines must pass them all (docs/deploy.md).
using 'main.bicep'

var given = {
  networkAddressSpace: readEnvironmentVariable('PAYONCE_NETWORK_ADDRESS_SPACE', '')
  allowedAddresses: readEnvironmentVariable('PAYONCE_ALLOWED_ADDRESSES', '')
  cosmosAutoscaleMaxRu: readEnvironmentVariable('PAYONCE_COSMOS_AUTOSCALE_MAX_RU', '')
  maximumInstanceCount: readEnvironmentVariable('PAYONCE_MAXIMUM_INSTANCE_COUNT', '')
  alwaysReadyPayments: readEnvironmentVariable('PAYONCE_ALWAYS_READY_PAYMENTS', '')
  instanceMemory: readEnvironmentVariable('PAYONCE_INSTANCE_MEMORY', '')
  opsGroupIds: readEnvironmentVariable('PAYONCE_OPS_GROUP_IDS', '')
  opsAllowedApplications: readEnvironmentVariable('PAYONCE_OPS_ALLOWED_APPLICATIONS', '')
  storageSku: readEnvironmentVariable('PAYONCE_STORAGE_SKU', '')
  shards: readEnvironmentVariable('PAYONCE_SHARDS', '')
  shardGroups: readEnvironmentVariable('PAYONCE_SHARD_GROUPS', '')
  paymentRate: readEnvironmentVariable('PAYONCE_PAYMENT_RATE', '')
  keepDays: readEnvironmentVariable('PAYONCE_KEEP_DAYS', '')
  deploymentId: readEnvironmentVariable('PAYONCE_DEPLOYMENT_ID', '')
  locks: readEnvironmentVariable('PAYONCE_LOCKS', '')
  invoiceSchedule: readEnvironmentVariable('PAYONCE_INVOICE_SCHEDULE', '')
  invoiceIntervalSeconds: readEnvironmentVariable('PAYONCE_INVOICE_INTERVAL_SECONDS', '')
  outboxSchedule: readEnvironmentVariable('PAYONCE_OUTBOX_SCHEDULE', '')
  logRetentionDays: readEnvironmentVariable('PAYONCE_LOG_RETENTION_DAYS', '')
  cosmosBackupDays: readEnvironmentVariable('PAYONCE_COSMOS_BACKUP_DAYS', '')
  immutableDays: readEnvironmentVariable('PAYONCE_IMMUTABLE_DAYS', '')
  monthlyBudget: readEnvironmentVariable('PAYONCE_MONTHLY_BUDGET', '')
  lockContentionThreshold: readEnvironmentVariable('PAYONCE_LOCK_CONTENTION_THRESHOLD', '')
}

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME', 'dev')
param location = readEnvironmentVariable('AZURE_LOCATION', 'westeurope')
// Needed only for the first deployment and for a rotation. Empty leaves the secrets in the vault unchanged.
param stripeSecretKey = readEnvironmentVariable('STRIPE_SECRET_KEY', '')
param stripeWebhookSecrets = readEnvironmentVariable('STRIPE_WEBHOOK_SECRETS', '')
param notifyWebhookSecret = readEnvironmentVariable('NOTIFY_WEBHOOK_SECRET', '')
// True: Stripe delivers events; its secrets then have to be in the vault, or the app does nothing.
param stripeWebhook = readEnvironmentVariable('PAYONCE_STRIPE_WEBHOOK', '') == 'true'
param notifyWebhookUrl = readEnvironmentVariable('PAYONCE_NOTIFY_WEBHOOK_URL', '')
param alertEmail = readEnvironmentVariable('PAYONCE_ALERT_EMAIL', '')
param alertWebhooks = readEnvironmentVariable('PAYONCE_ALERT_WEBHOOKS', '')
param alertsQuietUntil = readEnvironmentVariable('PAYONCE_ALERTS_QUIET_UNTIL', '')

// Fixed at the first deployment: Azure cannot change them later, and the app depends on the number of shards.
// docs/deploy.md lists what may still change of storageSku and cosmosAutoscaleMaxRu.
param privateNetworking = readEnvironmentVariable('PAYONCE_PRIVATE_NETWORKING', '') == 'true'
param networkAddressSpace = !empty(given.networkAddressSpace) ? given.networkAddressSpace : '10.80.0.0/16'
param appSubnetId = readEnvironmentVariable('PAYONCE_APP_SUBNET_ID', '')
param endpointSubnetId = readEnvironmentVariable('PAYONCE_ENDPOINT_SUBNET_ID', '')
param privateDnsZones = readEnvironmentVariable('PAYONCE_PRIVATE_DNS_ZONES', '')
param natGateway = readEnvironmentVariable('PAYONCE_NAT_GATEWAY', '') == 'true'
param privateInbound = readEnvironmentVariable('PAYONCE_PRIVATE_INBOUND', '') == 'true'
param allowedAddresses = empty(given.allowedAddresses) ? [] : split(given.allowedAddresses, ',')
param cosmosAutoscaleMaxRu = empty(given.cosmosAutoscaleMaxRu) ? 0 : int(given.cosmosAutoscaleMaxRu)
param cosmosZoneRedundant = readEnvironmentVariable('PAYONCE_COSMOS_ZONE_REDUNDANT', '') == 'true'
param storageSku = !empty(given.storageSku) ? given.storageSku : 'Standard_ZRS'
param shards = empty(given.shards) ? 16 : int(given.shards)
// The account that a backup was restored to, if it is not the one created by the first deployment.
param cosmosAccountName = readEnvironmentVariable('PAYONCE_COSMOS_ACCOUNT_NAME', '')
// Stops claiming and charging until a restored database has been reconciled with Stripe.
param paymentsPaused = readEnvironmentVariable('PAYONCE_PAYMENTS_PAUSED', '') == 'true'

param planZoneRedundant = readEnvironmentVariable('PAYONCE_PLAN_ZONE_REDUNDANT', '') == 'true'
param instanceMemory = empty(given.instanceMemory) ? 2048 : int(given.instanceMemory)
param maximumInstanceCount = empty(given.maximumInstanceCount) ? 100 : int(given.maximumInstanceCount)
param alwaysReadyPayments = empty(given.alwaysReadyPayments) ? 0 : int(given.alwaysReadyPayments)
param opsClientId = readEnvironmentVariable('PAYONCE_OPS_CLIENT_ID', '')
param opsGroupIds = empty(given.opsGroupIds) ? [] : split(given.opsGroupIds, ',')
param opsAllowedApplications = empty(given.opsAllowedApplications)
  ? ['04b07795-8ddb-461a-bbee-02f9e1bf7b46']
  : split(given.opsAllowedApplications, ',')
param shardGroups = empty(given.shardGroups) ? 4 : int(given.shardGroups)
param paymentRate = empty(given.paymentRate) ? 25 : int(given.paymentRate)
param keepDays = empty(given.keepDays) ? 400 : int(given.keepDays)
param deploymentId = given.deploymentId
param locks = !empty(given.locks) ? given.locks : 'blob'
// The same fact twice, because a template cannot parse NCRONTAB. Alerts use the interval. Change both.
param invoiceSchedule = !empty(given.invoiceSchedule) ? given.invoiceSchedule : '0 */5 * * * *'
param invoiceIntervalSeconds = empty(given.invoiceIntervalSeconds) ? 300 : int(given.invoiceIntervalSeconds)
param outboxSchedule = !empty(given.outboxSchedule) ? given.outboxSchedule : '*/30 * * * * *'
param roleAssignments = readEnvironmentVariable('PAYONCE_ROLE_ASSIGNMENTS', '') != 'false'
param resourceLocks = readEnvironmentVariable('PAYONCE_RESOURCE_LOCKS', '') != 'false'
param logRetentionDays = empty(given.logRetentionDays) ? 30 : int(given.logRetentionDays)
param dataAccessLogs = readEnvironmentVariable('PAYONCE_DATA_ACCESS_LOGS', '') == 'true'
param cosmosBackupDays = empty(given.cosmosBackupDays) ? 7 : int(given.cosmosBackupDays)
param immutableDays = empty(given.immutableDays) ? 0 : int(given.immutableDays)
param monthlyBudget = empty(given.monthlyBudget) ? 0 : int(given.monthlyBudget)
param budgetStart = readEnvironmentVariable('PAYONCE_BUDGET_START', '')
param developerPrincipalId = readEnvironmentVariable('PAYONCE_DEVELOPER_PRINCIPAL_ID', '')
param lockContentionThreshold = empty(given.lockContentionThreshold) ? 200 : int(given.lockContentionThreshold)
