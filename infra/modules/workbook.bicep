// The overview workbook: payments, leases, runs and backlogs.
param location string
param tags object
param applicationInsightsId string

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, 'payonce-overview')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'payonce overview'
    category: 'workbook'
    sourceId: applicationInsightsId
    serializedData: string(loadJsonContent('../workbook.json'))
  }
}
