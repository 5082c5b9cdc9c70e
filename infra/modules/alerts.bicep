// Alerts. Each query returns one row per problem, so any row fires the alert. Metric names come from
// packages/leases/src/telemetry.ts; a test compares them.
param location string
param tags object
param applicationInsightsId string
param serviceBusId string
@description('Email addresses, comma-separated.')
param alertEmail string
@description('Addresses that get each alert as JSON (common alert schema), comma-separated.')
@secure()
param alertWebhooks string
@description('Until then no alert fires (ISO 8601, UTC). Empty, or past: each does.')
param quietUntil string
param now string = utcNow()
param invoiceIntervalSeconds int
param shardGroups int
param lockContentionThreshold int
param paymentRate int
@description('The runbook in the dashboard of the app. Each alert links to its own entry.')
param runbookUrl string

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-payonce'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'payonce'
    emailReceivers: [
      for (address, index) in (empty(alertEmail) ? [] : split(alertEmail, ',')): {
        name: index == 0 ? 'on call' : 'on call ${index + 1}'
        emailAddress: address
        useCommonAlertSchema: true
      }
    ]
    webhookReceivers: [
      for (address, index) in (empty(alertWebhooks) ? [] : split(alertWebhooks, ',')): {
        name: 'webhook ${index + 1}'
        serviceUri: address
        useCommonAlertSchema: true
      }
    ]
  }
}

// On a first day the app is not there yet, or waits for its key, and maintenance stops it: the alerts that notice silence would fire.
// A fault that is still there at the end fires then. An alert processing rule would hide it for good: an alert that has fired
// is not sent afterwards (https://learn.microsoft.com/azure/azure-monitor/alerts/alerts-processing-rules).
var quiet = empty(quietUntil) ? false : dateTimeToEpoch(quietUntil) > dateTimeToEpoch(now)
// The last line of each query.
var notBefore = quiet ? '| where now() > datetime(${quietUntil})' : ''

// The only window sizes that a log alert accepts.
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
var threeHours = windows[5].name
// Three intervals if possible: one run may be late, and telemetry of the latest may still be in flight.
var longEnough = filter(windows, window => (window.seconds >= 3 * invoiceIntervalSeconds))
var threeRuns = concat(longEnough, [longest])[0].name

// Log alerts that are evaluated every minute, because people have to know within minutes. The others: every five.
var urgent = ['due-unpaid', 'key-rejected']

var alerts = [
  {
    name: 'due-unpaid'
    title: 'Invoices are due and not paid, or nobody counts them'
    severity: 1
    window: quarter
    look: 'Look first at GET ops/health, then at payonce.payment.outcome. "reports" is 0: sweepOutbox does not run or cannot read Cosmos DB. "claimed": invoices were claimed and are not paid. Is executePayments running, does it take messages, does the provider answer? "due": nobody claims them. Does processInvoices run, and what does GET ops/locks say?'
    // It looks at nothing but the invoices, so it fires whatever stands between them and their payment. What was claimed is
    // paid within two minutes, or somebody should know. What waits to be claimed may wait for a run, or in a backlog that
    // is being paid: at less than two fifths of the configured rate, it is not.
    query: replace(replace('''
customMetrics
| where name in ("payonce.invoice.overdue_oldest_ms", "payonce.payment.outcome", "payonce.paused_ms")
| summarize reports = countif(name == "payonce.invoice.overdue_oldest_ms" and timestamp > ago(8m)),
    claimed = maxif(valueMax, name == "payonce.invoice.overdue_oldest_ms" and tostring(customDimensions.since) == "claim"),
    due = maxif(valueMax, name == "payonce.invoice.overdue_oldest_ms" and tostring(customDimensions.since) == "due"),
    paid = sumif(valueSum, name == "payonce.payment.outcome" and tostring(customDimensions.outcome) == "succeeded"),
    paused = countif(name == "payonce.paused_ms" and valueMax > 0)
| extend unpaid = claimed > 300000 or (due > UNCLAIMED and paid < PAID)
| extend late = iff(reports == 0 or (unpaid and paused == 0), 1, 0)
| where late > 0
''', 'UNCLAIMED', string((invoiceIntervalSeconds + 240) * 1000)), 'PAID', string(paymentRate * 360))
  }
  {
    name: 'key-rejected'
    title: 'The payment provider refuses our key or account'
    severity: 1
    window: windows[1].name
    look: 'Look first at the dashboard of the provider: was the key revoked or did it expire, was the account restricted, does a restricted key lack a permission? Invoices wait and none is declined or parked. Set the key as docs/deploy.md says (Rotating the Stripe key): payments then resume automatically, and the alert ends half an hour later.'
    query: '''
customMetrics
| where name == "payonce.provider.key_rejected"
| summarize rejected = max(valueMax)
| where rejected > 0
'''
  }
  {
    name: 'no-successful-run'
    title: 'A shard group has had no completed run for three intervals'
    severity: 1
    window: threeRuns
    look: 'Look first at GET ops/locks for the groups named in the result: is the lease held elsewhere indefinitely, or is there no lease? Then at GET ops/runs and ops/health: is a run failing, or is the app stopped? Dry runs and manual runs do not count, and nothing runs while payments are paused.'
    query: replace('''
customMetrics
| where (name == "payonce.run.group_ended" and tostring(customDimensions.job) == "process-invoices")
  or name == "payonce.paused_ms"
| summarize done = make_set_if(tolong(customDimensions.group), name == "payonce.run.group_ended" and tostring(customDimensions.status) in ("completed", "partial")), paused = countif(name == "payonce.paused_ms" and valueMax > 0)
| extend groups = set_difference(range(0, LAST, 1), done)
| extend stuck = iff(paused > 0, 0, array_length(groups))
| where stuck > 0
''', 'LAST', string(shardGroups - 1))
  }
  {
    name: 'lease-lost'
    title: 'A lease was lost while its holder was working'
    severity: 2
    window: quarter
    look: 'Look first at the reason in the result: "expired" with a high payonce.event_loop.delay_ms means a stalled process; otherwise storage was unreachable. Claims still prevent double charges.'
    query: '''
customMetrics
| where name == "payonce.lease.lost"
| summarize lost = sum(valueSum) by job = tostring(customDimensions.job), reason = tostring(customDimensions.reason)
| where lost > 0
'''
  }
  {
    name: 'settings-invalid'
    title: 'Settings are missing or wrong: the app does nothing'
    severity: 1
    window: quarter
    look: 'Look first at GET ops/health, or at the errors in the log of sweepOutbox: both name each setting and what was expected. The app starts working once the settings are right.'
    query: '''
customMetrics
| where name == "payonce.settings.invalid"
| summarize ticks = sum(valueSum)
| where ticks > 0
'''
  }
  {
    name: 'lock-contention'
    title: 'Too many instances compete for the same leases'
    severity: 3
    window: quarter
    look: 'Look first at GET ops/locks: is one lease held for long, or are there more instances than SHARD_GROUPS can keep busy?'
    query: replace('''
customMetrics
| where name == "payonce.lease.skipped"
| summarize skipped = sum(valueSum) by job = tostring(customDimensions.job)
| where skipped > THRESHOLD
''', 'THRESHOLD', string(lockContentionThreshold))
  }
  {
    name: 'run-longer-than-interval'
    title: 'A run took longer than its interval, or was cut off by the function time limit'
    severity: 3
    window: quarter
    look: 'Look first at the counts and groups of the run in GET ops/runs/{id}: more due invoices than usual, or a slow Cosmos DB (429s)? A "partial" group ran out of time, or payments were paused: its reason says which. The next run continues where it stopped.'
    // A function stops after 9.5 minutes, so with a longer interval a run never outlasts it: it is cut off.
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
    title: 'A message has waited in the outbox for more than a minute, or the outbox is not swept'
    severity: 2
    window: quarter
    look: 'Look first at the errors in GET ops/outbox?status=pending, then at the health of Service Bus and the storage queue. If nothing is pending: does sweepOutbox run, and does OUTBOX_SCHEDULE fire more often than every 15 minutes?'
    // Every sweep reports, even if nothing waits. The other metrics that sweeps report (parked, poison) are
    // meaningless without sweeps.
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
    title: 'Parked invoices or messages need a decision'
    severity: 2
    window: quarter
    look: 'Look first at GET ops/invoices?status=parked and GET ops/outbox?status=parked: each entry gives the reason. The alert stays active until none is left.'
    // The latest count. The holder of the sweeper lease reports it every 30 s.
    query: '''
customMetrics
| where name == "payonce.parked.waiting"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 0
'''
  }
  {
    name: 'poison-work-item'
    title: 'Work items failed too often and became poison'
    severity: 2
    window: quarter
    look: 'Look first at GET ops/dead-letters: it lists poison work items with their last error. The alert stays active until all are redriven or discarded.'
    query: '''
customMetrics
| where name == "payonce.work_item.poison_waiting"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 0
'''
  }
  {
    name: 'work-items-wait'
    title: 'Work items have been waiting for more than five minutes for something that is down'
    severity: 2
    window: quarter
    look: 'Look first at the stage and the error in the result: does the webhook not answer, does the payment lookup at the provider fail, is a store away? Work items are retried every ten minutes until it is back. Only one that its receiver refuses (RetryForADay) becomes poison, after a day.'
    // Each item that waits is tried again, and reported, at least once in every window: one is enough.
    query: '''
customMetrics
| where name == "payonce.work_item.waited_ms"
| summarize waited = max(valueMax), tries = sum(valueCount) by stage = tostring(customDimensions.stage), error = tostring(customDimensions.error)
| where waited > 300000
'''
  }
  {
    name: 'unreadable-document'
    title: 'A stored document cannot be read and is skipped'
    severity: 2
    window: quarter
    look: 'Look first at the logs of processInvoices and sweepOutbox: they name the document and what is wrong with it. Was it edited manually?'
    query: '''
customMetrics
| where name == "payonce.document.unreadable"
| summarize found = sum(valueSum) by type = tostring(customDimensions.type)
| where found > 0
'''
  }
  {
    name: 'payment-unknown'
    title: 'The outcome of a payment has been unknown for more than an hour'
    severity: 1
    window: quarter
    look: 'Look first at GET ops/invoices?status=parked: those with payment.unknownSince may have been charged. Check each at the provider, by the invoice id in the payment metadata, before paying anything again.'
    query: '''
customMetrics
| where name == "payonce.payment.unknown_oldest_ms"
| summarize oldest = max(valueMax)
| where oldest > 3600000
'''
  }
  {
    name: 'payment-in-progress'
    title: 'A payment has been in progress for more than 21 days'
    severity: 2
    window: quarter
    look: 'Look first at GET ops/invoices?status=processing: payment.inProgress has the id and since when. Look the payment up at the provider by that id: a bank debit ends within 14 days. The invoice is neither charged again nor abandoned until the payment ends.'
    // The latest value, in milliseconds. The holder of the sweeper lease reports it every 30 s.
    query: '''
customMetrics
| where name == "payonce.payment.in_progress_oldest_ms"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 1814400000
'''
  }
  {
    name: 'payment-second'
    title: 'The provider has a second payment for an invoice'
    severity: 1
    window: quarter
    look: 'Look first at the timeline of the invoice: "second payment" names it. The app never sends a new key while a payment may move money, so it was probably made in the dashboard of the provider, or by another system with the same metadata. Refund one of the two.'
    query: '''
customMetrics
| where name == "payonce.payment.second"
| summarize payments = sum(valueSum)
| where payments > 0
'''
  }
  {
    name: 'payment-disputed'
    title: 'A customer disputes a payment, or a dispute was lost'
    severity: 2
    window: quarter
    look: 'Look first at the dispute at the provider: evidence has a deadline. GET ops/invoices/{id} shows it in reversals; the webhook names the invoice. A "disputeLost" in the result means that the money is gone.'
    query: '''
customMetrics
| where name == "payonce.invoice.disputed"
| summarize disputed = sum(valueSum) by kind = tostring(customDimensions.kind)
| where disputed > 0
'''
  }
  {
    name: 'events-rejected'
    title: 'Events of the payment provider were refused'
    severity: 2
    window: quarter
    look: 'Look first at the deliveries of the endpoint in the Stripe dashboard. If they fail with 400, a secret was rolled without telling the app: add it to STRIPE_WEBHOOK_SECRETS. If Stripe shows none, somebody else calls the address: that does no harm. "notStored" means that the storage queue did not take them.'
    query: '''
customMetrics
| where name == "payonce.payment.event" and tostring(customDimensions.outcome) in ("rejected", "malformed", "tooLarge", "notStored")
| summarize refused = sum(valueSum) by outcome = tostring(customDimensions.outcome)
| where refused > 5
'''
  }
  {
    name: 'events-unread'
    title: 'The events of the payment provider cannot be read'
    severity: 3
    window: quarter
    look: 'Look first at the log of trackPayments for the reason: a restricted key needs read access to events. Payments in progress, refunds and disputes that are known are checked all the same; those made at the provider appear once the events can be read again, for 30 days.'
    query: '''
customMetrics
| where name == "payonce.payment.event" and tostring(customDimensions.outcome) == "notListed"
| summarize failed = sum(valueSum)
| where failed > 10
'''
  }
  {
    name: 'events-missed'
    title: 'The webhook does not bring the events of the payment provider'
    severity: 3
    window: threeHours
    look: 'Look first at the deliveries of the endpoint in the Stripe dashboard: is it enabled, and subscribed to every event of the list in docs/deploy.md? Nothing is lost: the list of events is read every hour, and has brought these.'
    // A single one may be late. All of them, or several, are not.
    query: '''
customMetrics
| where name == "payonce.payment.event" and tostring(customDimensions.outcome) in ("missed", "stored")
| summarize missed = sumif(valueSum, tostring(customDimensions.outcome) == "missed"), stored = sumif(valueSum, tostring(customDimensions.outcome) == "stored")
| extend silent = iff(stored == 0, missed, missed - 5)
| where silent > 0
'''
  }
  {
    name: 'breaker-open'
    title: 'The circuit breaker is holding back calls to the payment provider'
    severity: 2
    window: quarter
    look: 'Look first at the reason in the result. "providerDown": it does not answer; "badAnswer": it answers with failures. Both are for its status page and payonce.payment.outcome, and payments resume automatically. A rejected key has an alert of its own.'
    query: '''
customMetrics
| where name == "payonce.payment.breaker_open" and tostring(customDimensions.reason) in ("providerDown", "badAnswer")
| summarize opened = sum(valueSum) by reason = tostring(customDimensions.reason)
| where opened > 0
'''
  }
  {
    name: 'payment-account'
    title: 'The Stripe key belongs to another account or mode than the payments of this deployment'
    severity: 1
    window: quarter
    look: 'Look first at GET ops/health: paymentAccount names both accounts. Was STRIPE_SECRET_KEY replaced by a key of another account, or a live key by a test key? Nothing is charged or looked up until the key is right; no invoice is declined or parked for it.'
    query: '''
customMetrics
| where name == "payonce.provider.account_changed"
| summarize found = sum(valueSum)
| where found > 0
'''
  }
  {
    name: 'refund-overdue'
    title: 'Refunds are not made, or wait for a person'
    severity: 2
    window: 'P1D'
    look: 'Look first at GET ops/overview: "refunds-overdue" says how many there are now, and GET ops/invoices?status=paid&undecided=true has them. One with "mayBe" waits for your word: somebody has refunded the same amount in the Stripe dashboard. The others are ordered again until Stripe takes or refuses them.'
    query: '''
customMetrics
| where name == "payonce.refund.overdue"
| summarize overdue = sum(valueSum)
| where overdue > 0
'''
  }
  {
    name: 'refund-failed'
    title: 'A refund has failed: the customer does not get the money'
    severity: 2
    window: quarter
    look: 'Look first at the notifications invoice.refund_failed, or at reversals in GET ops/invoices?status=paid: failure says why. The amount is free again. Ask for the refund under another Idempotency-Key, or pay the customer in another way.'
    query: '''
customMetrics
| where name == "payonce.refund.failed"
| summarize failed = sum(valueSum)
| where failed > 0
'''
  }
  {
    name: 'audit-failed'
    title: 'What somebody did could not be recorded'
    severity: 2
    window: quarter
    look: 'Look first at the log of the HTTP functions. "was refused": blob storage is away, or the container changes is missing; nothing was done. "is not in the audit trail": it was done, and the journal in the container changes has who asked for it, and the answer.'
    query: '''
customMetrics
| where name == "payonce.audit.failed"
| summarize failed = sum(valueSum)
| where failed > 0
'''
  }
  {
    name: 'backlog-growing'
    title: 'The backlog of due invoices has been growing for an hour'
    severity: 2
    window: 'PT1H'
    look: 'Look first at GET ops/summary: pace.charges tells what the provider allows, takes and refuses; backlog tells how long the rest takes. If usedPerSecond is at allowedPerSecond, more is due than the allowance pays: ask the provider to raise it, then PAYMENT_RATE. If it is far below, look at payonce.payment.outcome and at the instances of executePayments.'
    query: '''
customMetrics
| where name == "payonce.invoice.backlog"
| summarize waiting = max(valueMax) by bin(timestamp, 10m)
| order by timestamp asc
| extend grew = waiting > prev(waiting, 1, waiting)
| summarize steps = count(), standing = countif(not(grew)), waiting = max(waiting)
| extend growing = iff(steps > 5 and standing < 2, waiting, 0)
| where growing > 0
'''
  }
  {
    name: 'paused'
    title: 'Payments have been paused for more than an hour'
    severity: 3
    window: quarter
    look: 'Look first at GET ops/health: it says who paused them, when and why. POST ops/resume ends the pause.'
    // The latest report: each sweep says how long the pause has been in force, and 0 if there is none.
    query: '''
customMetrics
| where name == "payonce.paused_ms"
| summarize arg_max(timestamp, valueMax)
| where valueMax > 3600000
'''
  }
  {
    name: 'archive-behind'
    title: 'Settled invoices do not move to blob storage'
    severity: 3
    window: threeHours
    look: 'Look first at the log of archiveInvoices: it names the shards that were left out, and why. If each run ends because its time is up, more becomes old than it moves (docs/retention.md). Nothing is lost, but the database grows.'
    // A run every hour: one that fails may be an outage that is over. Each says for how much longer than KEEP_DAYS the
    // database has kept what it had no time for.
    query: '''
customMetrics
| where name in ("payonce.archive.behind_ms", "payonce.archive.failed")
| summarize behind = maxif(valueMax, name == "payonce.archive.behind_ms"),
    failed = sumif(valueSum, name == "payonce.archive.failed")
| extend late = iff(behind > 604800000 or failed > 1, 1, 0)
| where late > 0
'''
  }
  {
    name: 'function-timeout'
    title: 'A function took more than ten minutes, and its process was ended with everything in it'
    severity: 1
    window: quarter
    look: 'Look first at the line of the log that the result counts: it has the id of the invocation, and the request of that id says which function it was. A run, a sweep or a payment that hangs: what did it wait for? A call of the HTTP API: none should be able to wait so long. Payments that were in flight are asked for again under the same keys.'
    // Our functions stop by themselves after nine and a half minutes. The host alone can tell, and says so in these words.
    query: '''
traces
| where message startswith "A function timeout has occurred"
| summarize timeouts = sum(itemCount) by cloud_RoleInstance
| where timeouts > 0
'''
  }
  {
    name: 'function-failures'
    title: 'A function keeps failing'
    severity: 2
    window: quarter
    look: 'Look first at the exceptions of the function named in the result (Application Insights, Failures).'
    query: '''
requests
| where success == false and operation_Name !has "executePayments"
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
      description: '${alert.look} What to do: ${runbookUrl}#alerts-${alert.name}'
      severity: alert.severity
      enabled: true
      autoMitigate: true
      // On a first deployment the tables that the queries read do not exist yet.
      skipQueryValidation: true
      evaluationFrequency: contains(urgent, alert.name) ? 'PT1M' : 'PT5M'
      windowSize: alert.window
      scopes: [applicationInsightsId]
      criteria: {
        allOf: [
          {
            query: '${alert.query}${notBefore}'
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
        customProperties: {
          runbook_url: '${runbookUrl}#alerts-${alert.name}'
        }
      }
    }
  }
]

resource deadLetters 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: 'payonce-dead-letters'
  location: 'global'
  tags: tags
  properties: {
    description: 'Look first at GET ops/dead-letters: each message has a reason. Send it back with POST ops/dead-letters/redrive. What to do: ${runbookUrl}#alerts-dead-letters'
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
        webHookProperties: {
          runbook_url: '${runbookUrl}#alerts-dead-letters'
        }
      }
    ]
  }
}
