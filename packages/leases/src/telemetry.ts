/** The metrics of the generic parts. A unit in the name is the unit of the value. */
export const partMetric = {
  leaseAcquired: 'lease.acquired',
  leaseSkipped: 'lease.skipped',
  leaseWaitedMs: 'lease.waited_ms',
  leaseLost: 'lease.lost',
  leaseReleaseFailed: 'lease.release_failed',
  leaseRenewMs: 'lease.renew_ms',
  leaseHeldMs: 'lease.held_ms',
  leaseLeftAtRenewalMs: 'lease.left_at_renewal_ms',
  leaseFence: 'lease.fence',
  documentUnreadable: 'document.unreadable',
  eventLoopDelayMs: 'event_loop.delay_ms',
  outboxDispatched: 'outbox.dispatched',
  outboxLagMs: 'outbox.lag_ms',
  outboxOldestMs: 'outbox.oldest_ms',
  outboxMarkFailed: 'outbox.mark_failed',
  paceCalls: 'pace.calls',
  paceWaitedMs: 'pace.waited_ms',
  paceRate: 'pace.rate',
  paceAlone: 'pace.alone',
  workItemDone: 'work_item.done',
  workItemRetried: 'work_item.retried',
  workItemWaitedMs: 'work_item.waited_ms',
  runEnded: 'run.ended',
  runGroupEnded: 'run.group_ended',
  runMs: 'run.ms',
  runReportFailed: 'run.report_failed',
} as const;

/** Attributes have few values (a job, a reason) and are never ids. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Where code reports what it does. Both calls must return at once and never throw. */
export interface Telemetry {
  count(name: string, attributes?: Attributes, by?: number): void;
  /** Adds one value to a histogram. */
  record(name: string, value: number, attributes?: Attributes): void;
}

/** Discards everything. */
export const noTelemetry: Telemetry = { count() {}, record() {} };
