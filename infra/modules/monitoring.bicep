// Workspace-based Application Insights. It accepts telemetry only from Entra identities.
param token string
param location string
param tags object
param appPrincipalId string
param retentionDays int
@description('False: the deployment assigns no Azure roles. Whoever may do so assigns those of the output instead.')
param assignRoles bool

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: 'log-payonce-${token}'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionDays
    features: {
      disableLocalAuth: true
    }
  }
}

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-payonce-${token}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    DisableLocalAuth: true
  }
}

var roles = [
  {
    name: 'Monitoring Metrics Publisher'
    id: '3913510d-42f4-4e42-8a64-420c390055eb'
    why: 'The host and the app send telemetry with the app identity.'
  }
]

resource roleAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in roles: if (assignRoles) {
    name: guid(applicationInsights.id, appPrincipalId, role.id)
    scope: applicationInsights
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      principalId: appPrincipalId
      principalType: 'ServicePrincipal'
      description: role.why
    }
  }
]

output workspaceId string = workspace.id
output applicationInsightsId string = applicationInsights.id
output connectionString string = applicationInsights.properties.ConnectionString
@description('The Azure roles that this module assigns, or would.')
output assignments array = map(roles, role => { role: role.name, principalId: appPrincipalId, scope: applicationInsights.id, condition: '' })
