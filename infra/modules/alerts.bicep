// What somebody must be told of. Each query returns a row for each thing that is wrong, so that any row is an alert.
// The metric names are those of src/platform/telemetry.ts (a test compares them).
param location string
param tags object
param applicationInsightsId string
param serviceBusId string
param alertEmail string
param invoiceIntervalSeconds int
param shardGroups int
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

// What a log alert may look back on: these times and no others.
var windows = [
  { seconds: 900, name: 'PT15M' }
  { seconds: 1800, name: 'PT30M' }
  { seconds: 2700, name: 'PT45M' }
  { seconds: 3600, name: 'PT1H' }
  { seconds: 7200, name: 'PT2H' }
  { seconds: 10800, name: 'PT3H' }
  { seconds: 14400, name: 'PT4H' }
  { seconds: 18000, name: 'PT5H' }
  { seconds: 21600, name: 'PT6H' }
  { seconds: 86400, name: 'P1D' }
]
var longest = { seconds: 172800, name: 'P2D' }
var quarter = windows[0].name
// Three intervals, where that is possible: one run may be late, and what the last has reported may be on its way.
var longEnough = filter(windows, window => (window.seconds >= 3 * invoiceIntervalSeconds))
var threeRuns = concat(longEnough, [longest])[0].name

var alerts = [
  {
    name: 'no-successful-run'
    title: 'A group of shards has not been worked through for three intervals'
    severity: 1
    window: threeRuns
    look: 'Look first at GET ops/locks for the groups named in the result: a lease that is held elsewhere for ever, or no lease at all? Then at GET ops/runs and ops/health: is a run failing, is the app stopped? Dry runs and runs by hand do not count.'
    query: replace('''
customMetrics
| where name == "payonce.run.group_ended" and tostring(customDimensions.job) == "process-invoices"
| summarize done = make_set_if(tolong(customDimensions.group), tostring(customDimensions.status) in ("completed", "partial"))
| extend groups = set_difference(range(0, LAST, 1), done)
| extend stuck = array_length(groups)
| where stuck > 0
''', 'LAST', string(shardGroups - 1))
  }
  {
    name: 'lease-lost'
    title: 'A lease was lost while its holder worked'
    severity: 2
    window: quarter
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
    window: quarter
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
    title: 'A run took longer than the time between two runs, or did not get through in the time that a function has'
    severity: 3
    window: quarter
    look: 'Look first at the counts and the groups of the run in GET ops/runs/{id}: more due invoices than usual, or a slow Cosmos DB (429s)? A group that is "partial" ended when its time was up; the next run goes on where it ended.'
    // A function ends its work after 9.5 minutes, so with a longer interval no run takes that long: it is cut off instead.
    query: replace('''
customMetrics
| where name == "payonce.run.ms"
  or (name == "payonce.run.group_ended" and tostring(customDimensions.status) == "partial")
| summarize longest = maxif(valueMax, name == "payonce.run.ms"), cut = sumif(valueSum, name == "payonce.run.group_ended") by job = tostring(customDimensions.job)
| extend late = cut + iff(longest > INTERVAL, 1, 0)
| where late > 0
''', 'INTERVAL', string(invoiceIntervalSeconds * 1000))
  }
  {
    name: 'outbox-old'
    title: 'A message waits in the outbox for more than a minute, or nobody looks'
    severity: 2
    window: quarter
    look: 'Look first at the errors in GET ops/outbox?status=pending, then at the health of Service Bus and the storage queue. Nothing is pending: does sweepOutbox run, and is OUTBOX_SCHEDULE more often than every 15 minutes?'
    // Each sweep reports, also that nothing waits. What else is told by sweeps (parked, poison) is worth nothing without them.
    query: '''
customMetrics
| where name == "payonce.outbox.oldest_ms"
| summarize oldest = max(valueMax), sweeps = sum(valueCount)
| extend waited = iff(sweeps > 0, oldest, 900000.0)
| where waited > 60000
'''
  }
  {
    name: 'parked'
    title: 'Invoices or messages are parked: a person has to decide'
    severity: 2
    window: quarter
    look: 'Look first at GET ops/invoices?status=parked and GET ops/outbox?status=parked: each says why. The alert lasts until none is left.'
    // How many there were when somebody last looked, which whoever holds the lease of the sweeper does every 30 s.
    query: '''
customMetrics
| where name == "payonce.parked.waiting"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 0
'''
  }
  {
    name: 'poison-work-item'
    title: 'Work items failed so often that they were put aside'
    severity: 2
    window: quarter
    look: 'Look first at GET ops/dead-letters: it lists poisonous work items with the last error. The alert lasts until all are sent again.'
    query: '''
customMetrics
| where name == "payonce.work_item.poison_waiting"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 0
'''
  }
  {
    name: 'work-items-wait'
    title: 'Work items cannot be done and are put off again and again'
    severity: 3
    window: quarter
    look: 'Look first at the stage and the error in the result: a webhook that does not answer, or a payment provider that cannot look payments up? They are tried for a day before they are poison.'
    query: '''
customMetrics
| where name == "payonce.work_item.postponed"
| summarize postponed = sum(valueSum) by stage = tostring(customDimensions.stage), error = tostring(customDimensions.error)
| where postponed > 20
'''
  }
  {
    name: 'unreadable-document'
    title: 'A stored document cannot be read and is passed by'
    severity: 2
    window: quarter
    look: 'Look first at the log of processInvoices and sweepOutbox: it names the document and what is wrong with it. Was it edited by hand, or written by a newer version?'
    query: '''
customMetrics
| where name == "payonce.document.unreadable"
| summarize found = sum(valueSum) by type = tostring(customDimensions.type)
| where found > 0
'''
  }
  {
    name: 'payment-unknown'
    title: 'For more than an hour it is not known whether a payment went through'
    severity: 1
    window: quarter
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
    window: quarter
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
    window: quarter
    look: 'Look first at the exceptions of the function named in the result (Application Insights, Failures).'
    query: '''
requests
| where success == false
| summarize failures = sum(itemCount) by operation_Name
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
      windowSize: alert.window
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
