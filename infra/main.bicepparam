// Values come from the environment: azd sets the first two, a shell or a pipeline may set the others.
using 'main.bicep'

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME', 'dev')
param location = readEnvironmentVariable('AZURE_LOCATION', 'westeurope')
// Secrets only for the first deployment and for a rotation: empty leaves what is in the vault as it is.
param stripeSecretKey = readEnvironmentVariable('STRIPE_SECRET_KEY', '')
param notifyWebhookUrl = readEnvironmentVariable('PAYONCE_NOTIFY_WEBHOOK_URL', '')
param notifyWebhookSecret = readEnvironmentVariable('NOTIFY_WEBHOOK_SECRET', '')
param alertEmail = readEnvironmentVariable('PAYONCE_ALERT_EMAIL', '')
param privateNetworking = bool(readEnvironmentVariable('PAYONCE_PRIVATE_NETWORKING', 'false'))
param cosmosAutoscaleMaxRu = int(readEnvironmentVariable('PAYONCE_COSMOS_AUTOSCALE_MAX_RU', '0'))
param alwaysReadyPayments = int(readEnvironmentVariable('PAYONCE_ALWAYS_READY_PAYMENTS', '0'))
param opsClientId = readEnvironmentVariable('PAYONCE_OPS_CLIENT_ID', '')
param opsGroupIds = empty(readEnvironmentVariable('PAYONCE_OPS_GROUP_IDS', ''))
  ? []
  : split(readEnvironmentVariable('PAYONCE_OPS_GROUP_IDS', ''), ',')
