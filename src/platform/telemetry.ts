import { type Attributes, metrics as openTelemetry } from '@opentelemetry/api';

/** Every metric of the app. Alerts and dashboards use these names. A unit in the name is the unit of the value. */
export const metric = {
  leaseAcquired: 'payonce.lease.acquired',
  leaseSkipped: 'payonce.lease.skipped',
  leaseWaitedMs: 'payonce.lease.waited_ms',
  leaseLost: 'payonce.lease.lost',
  leaseReleaseFailed: 'payonce.lease.release_failed',
  leaseRenewMs: 'payonce.lease.renew_ms',
  leaseHeldMs: 'payonce.lease.held_ms',
  leaseLeftAtRenewalMs: 'payonce.lease.left_at_renewal_ms',
  leaseFence: 'payonce.lease.fence',
  documentUnreadable: 'payonce.document.unreadable',
  eventLoopDelayMs: 'payonce.event_loop.delay_ms',
  outboxDispatched: 'payonce.outbox.dispatched',
  outboxLagMs: 'payonce.outbox.lag_ms',
  outboxOldestMs: 'payonce.outbox.oldest_ms',
  outboxMarkFailed: 'payonce.outbox.mark_failed',
  paymentOutcome: 'payonce.payment.outcome',
  paymentCallMs: 'payonce.payment.call_ms',
  paymentUnknownOldestMs: 'payonce.payment.unknown_oldest_ms',
  paymentBreakerOpen: 'payonce.payment.breaker_open',
  paceCalls: 'payonce.pace.calls',
  paceWaitedMs: 'payonce.pace.waited_ms',
  paceRate: 'payonce.pace.rate',
  paceAlone: 'payonce.pace.alone',
  batchStale: 'payonce.batch.stale',
  batchLeft: 'payonce.batch.left',
  batchRejected: 'payonce.batch.rejected',
  messageLockLost: 'payonce.message.lock_lost',
  invoiceClaims: 'payonce.invoice.claims',
  invoiceBacklog: 'payonce.invoice.backlog',
  invoiceBacklogSeconds: 'payonce.invoice.backlog_seconds',
  invoiceOldestDueSeconds: 'payonce.invoice.oldest_due_seconds',
  invoiceParked: 'payonce.invoice.parked',
  workItemDone: 'payonce.work_item.done',
  workItemPostponed: 'payonce.work_item.postponed',
  workItemPoison: 'payonce.work_item.poison',
  workItemPoisonWaiting: 'payonce.work_item.poison_waiting',
  parkedWaiting: 'payonce.parked.waiting',
  runEnded: 'payonce.run.ended',
  runGroupEnded: 'payonce.run.group_ended',
  runMs: 'payonce.run.ms',
  runReportFailed: 'payonce.run.report_failed',
} as const;

export type Metric = (typeof metric)[keyof typeof metric];

/** Where features report what they do. Attributes have few values (a job, a reason) and are never ids. */
export interface Telemetry {
  count(name: Metric, attributes?: Attributes, by?: number): void;
  /** Adds one value to a histogram. */
  record(name: Metric, value: number, attributes?: Attributes): void;
}

/** Reports to the OpenTelemetry provider that the process has registered. Without one, it discards everything. */
export function openTelemetryMetrics(): Telemetry {
  const meter = openTelemetry.getMeter('payonce');
  const counters = new Map<Metric, ReturnType<typeof meter.createCounter>>();
  const histograms = new Map<Metric, ReturnType<typeof meter.createHistogram>>();
  return {
    count(name, attributes, by = 1) {
      const counter = counters.get(name) ?? meter.createCounter(name);
      counters.set(name, counter);
      counter.add(by, attributes);
    },
    record(name, value, attributes) {
      const histogram = histograms.get(name) ?? meter.createHistogram(name);
      histograms.set(name, histogram);
      histogram.record(value, attributes);
    },
  };
}

/** Discards everything. */
export const noTelemetry: Telemetry = { count() {}, record() {} };
