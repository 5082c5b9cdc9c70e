// Tells when the resource group becomes more expensive than expected. A budget stops nothing.
param amount int
param start string
param alertEmail string

var addresses = empty(alertEmail) ? [] : split(alertEmail, ',')

resource budget 'Microsoft.Consumption/budgets@2024-08-01' = {
  name: 'budget-payonce'
  properties: {
    category: 'Cost'
    amount: amount
    timeGrain: 'Monthly'
    timePeriod: {
      startDate: start
    }
    notifications: {
      spent: {
        enabled: true
        operator: 'GreaterThanOrEqualTo'
        threshold: 80
        thresholdType: 'Actual'
        contactEmails: addresses
        contactRoles: ['Owner']
      }
      expected: {
        enabled: true
        operator: 'GreaterThanOrEqualTo'
        threshold: 100
        thresholdType: 'Forecasted'
        contactEmails: addresses
        contactRoles: ['Owner']
      }
    }
  }
}
