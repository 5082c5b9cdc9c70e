// Values come from the environment: azd sets the first two, a shell or a pipeline may set the others. What is not set, or
// set to nothing, takes the default of main.bicep. A deployment sets all of them: one that was given the last time and
// not this time goes back to its default, so a pipeline keeps them (docs/deploy.md).
using 'main.bicep'

var given = {
  cosmosAutoscaleMaxRu: readEnvironmentVariable('PAYONCE_COSMOS_AUTOSCALE_MAX_RU', '')
  maximumInstanceCount: readEnvironmentVariable('PAYONCE_MAXIMUM_INSTANCE_COUNT', '')
  alwaysReadyPayments: readEnvironmentVariable('PAYONCE_ALWAYS_READY_PAYMENTS', '')
  opsGroupIds: readEnvironmentVariable('PAYONCE_OPS_GROUP_IDS', '')
  storageSku: readEnvironmentVariable('PAYONCE_STORAGE_SKU', '')
  shards: readEnvironmentVariable('PAYONCE_SHARDS', '')
  shardGroups: readEnvironmentVariable('PAYONCE_SHARD_GROUPS', '')
  invoiceSchedule: readEnvironmentVariable('PAYONCE_INVOICE_SCHEDULE', '')
  invoiceIntervalSeconds: readEnvironmentVariable('PAYONCE_INVOICE_INTERVAL_SECONDS', '')
  outboxSchedule: readEnvironmentVariable('PAYONCE_OUTBOX_SCHEDULE', '')
  lockContentionThreshold: readEnvironmentVariable('PAYONCE_LOCK_CONTENTION_THRESHOLD', '')
}

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME', 'dev')
param location = readEnvironmentVariable('AZURE_LOCATION', 'westeurope')
// Secrets only for the first deployment and for a rotation: empty leaves what is in the vault as it is.
param stripeSecretKey = readEnvironmentVariable('STRIPE_SECRET_KEY', '')
param notifyWebhookSecret = readEnvironmentVariable('NOTIFY_WEBHOOK_SECRET', '')
param notifyWebhookUrl = readEnvironmentVariable('PAYONCE_NOTIFY_WEBHOOK_URL', '')
param alertEmail = readEnvironmentVariable('PAYONCE_ALERT_EMAIL', '')

// Chosen at the first deployment: Azure does not change them afterwards, and the app relies on the number of shards.
param privateNetworking = readEnvironmentVariable('PAYONCE_PRIVATE_NETWORKING', '') == 'true'
param cosmosAutoscaleMaxRu = empty(given.cosmosAutoscaleMaxRu) ? 0 : int(given.cosmosAutoscaleMaxRu)
param storageSku = !empty(given.storageSku) ? given.storageSku : 'Standard_ZRS'
param shards = empty(given.shards) ? 16 : int(given.shards)
// Another account than the one that the first deployment made: one that a backup was restored to.
param cosmosAccountName = readEnvironmentVariable('PAYONCE_COSMOS_ACCOUNT_NAME', '')
// Claims and charges nothing: for as long as a restored database has not been held against Stripe.
param paymentsPaused = readEnvironmentVariable('PAYONCE_PAYMENTS_PAUSED', '') == 'true'

param maximumInstanceCount = empty(given.maximumInstanceCount) ? 100 : int(given.maximumInstanceCount)
param alwaysReadyPayments = empty(given.alwaysReadyPayments) ? 0 : int(given.alwaysReadyPayments)
param opsClientId = readEnvironmentVariable('PAYONCE_OPS_CLIENT_ID', '')
param opsGroupIds = empty(given.opsGroupIds) ? [] : split(given.opsGroupIds, ',')
param shardGroups = empty(given.shardGroups) ? 4 : int(given.shardGroups)
// Two words for one thing, since a template cannot read NCRONTAB: the interval is what alerts count in. Change both.
param invoiceSchedule = !empty(given.invoiceSchedule) ? given.invoiceSchedule : '0 */5 * * * *'
param invoiceIntervalSeconds = empty(given.invoiceIntervalSeconds) ? 300 : int(given.invoiceIntervalSeconds)
param outboxSchedule = !empty(given.outboxSchedule) ? given.outboxSchedule : '*/30 * * * * *'
param lockContentionThreshold = empty(given.lockContentionThreshold) ? 200 : int(given.lockContentionThreshold)
