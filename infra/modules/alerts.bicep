// What somebody must be told of. Each query returns a row for each thing that is wrong, so that any row is an alert.
// The metric names are those of src/platform/telemetry.ts (a test compares them).
param location string
param tags object
param applicationInsightsId string
param serviceBusId string
param alertEmail string
param invoiceIntervalSeconds int
param lockContentionThreshold int

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-payonce'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'payonce'
    emailReceivers: empty(alertEmail) ? [] : [{ name: 'on call', emailAddress: alertEmail, useCommonAlertSchema: true }]
  }
}

var alerts = [
  {
    name: 'no-successful-run'
    title: 'No run has completed for 15 minutes'
    severity: 1
    look: 'Look first at GET ops/runs and ops/health: is a run failing, is the app stopped, is the lease of a group held?'
    query: '''
customMetrics
| where name == "payonce.run.ended"
| summarize completed = coalesce(sumif(valueSum, tostring(customDimensions.status) == "completed"), 0.0)
| where completed < 1
'''
  }
  {
    name: 'lease-lost'
    title: 'A lease was lost while its holder worked'
    severity: 2
    look: 'Look first at the reason in the result: "expired" with a high payonce.event_loop.delay_ms is a stalled process, else storage was out of reach. The claims kept the money safe.'
    query: '''
customMetrics
| where name == "payonce.lease.lost"
| summarize lost = sum(valueSum) by job = tostring(customDimensions.job), reason = tostring(customDimensions.reason)
| where lost > 0
'''
  }
  {
    name: 'lock-contention'
    title: 'Many instances wait for the same leases'
    severity: 3
    look: 'Look first at GET ops/locks: one long holder, or more instances than SHARD_GROUPS can keep busy?'
    query: replace('''
customMetrics
| where name == "payonce.lease.skipped"
| summarize skipped = sum(valueSum) by job = tostring(customDimensions.job)
| where skipped > THRESHOLD
''', 'THRESHOLD', string(lockContentionThreshold))
  }
  {
    name: 'run-longer-than-interval'
    title: 'A run took longer than the time between two runs'
    severity: 3
    look: 'Look first at the counts of the run in GET ops/runs/{id}: more due invoices than usual, or a slow Cosmos DB (429s)?'
    query: replace('''
customMetrics
| where name == "payonce.run.ms"
| summarize longest = max(valueMax) by job = tostring(customDimensions.job)
| where longest > INTERVAL
''', 'INTERVAL', string(invoiceIntervalSeconds * 1000))
  }
  {
    name: 'outbox-old'
    title: 'A message waits in the outbox for more than a minute'
    severity: 2
    look: 'Look first at the errors in GET ops/outbox?status=pending, then at the health of Service Bus and the storage queue.'
    query: '''
customMetrics
| where name == "payonce.outbox.oldest_ms"
| summarize oldest = max(valueMax)
| where oldest > 60000
'''
  }
  {
    name: 'parked'
    title: 'An invoice or a message was parked: a person has to decide'
    severity: 2
    look: 'Look first at GET ops/invoices?status=parked and GET ops/outbox?status=parked: each says why.'
    query: '''
customMetrics
| where name == "payonce.invoice.parked"
  or (name == "payonce.outbox.dispatched" and tostring(customDimensions.result) == "parked")
| summarize parked = sum(valueSum) by name
| where parked > 0
'''
  }
  {
    name: 'poison-work-item'
    title: 'A work item failed so often that it was put aside'
    severity: 2
    look: 'Look first at GET ops/dead-letters: it lists poisonous work items with the last error.'
    query: '''
customMetrics
| where name == "payonce.work_item.poison"
| summarize poison = sum(valueSum)
| where poison > 0
'''
  }
  {
    name: 'payment-unknown'
    title: 'For more than an hour it is not known whether a payment went through'
    severity: 1
    look: 'Look first at GET ops/invoices?status=parked: those with payment.unknownSince may have been charged. Compare them with the provider by the invoice id in its metadata before anything is paid again.'
    query: '''
customMetrics
| where name == "payonce.payment.unknown_oldest_ms"
| summarize oldest = max(valueMax)
| where oldest > 3600000
'''
  }
  {
    name: 'breaker-open'
    title: 'The payment provider fails so often that calls are held back'
    severity: 2
    look: 'Look first at the status page of the provider and at payonce.payment.outcome; payments go on by themselves.'
    query: '''
customMetrics
| where name == "payonce.payment.breaker_open"
| summarize opened = sum(valueSum)
| where opened > 0
'''
  }
  {
    name: 'function-failures'
    title: 'Functions fail'
    severity: 2
    look: 'Look first at the exceptions of the function named in the result (Application Insights, Failures).'
    query: '''
requests
| where success == false
| summarize failures = count() by operation_Name
| where failures > 5
'''
  }
]

resource rules 'Microsoft.Insights/scheduledQueryRules@2021-08-01' = [
  for alert in alerts: {
    name: 'payonce-${alert.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'payonce: ${alert.title}'
      description: alert.look
      severity: alert.severity
      enabled: true
      autoMitigate: true
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      scopes: [applicationInsightsId]
      criteria: {
        allOf: [
          {
            query: alert.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: [actionGroup.id]
      }
    }
  }
]

resource deadLetters 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: 'payonce-dead-letters'
  location: 'global'
  tags: tags
  properties: {
    description: 'Look first at GET ops/dead-letters: each has a reason; send it back with POST ops/dead-letters/redrive.'
    severity: 2
    enabled: true
    autoMitigate: true
    scopes: [serviceBusId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'dead letters'
          metricName: 'DeadletteredMessages'
          dimensions: [
            {
              name: 'EntityName'
              operator: 'Include'
              values: ['payment-commands']
            }
          ]
          operator: 'GreaterThan'
          threshold: 0
          timeAggregation: 'Maximum'
        }
      ]
    }
    actions: [
      {
        actionGroupId: actionGroup.id
      }
    ]
  }
}
