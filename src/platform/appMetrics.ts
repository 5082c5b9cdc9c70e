import { metrics } from '@opentelemetry/api';
import { openTelemetryMetrics } from '@payonce/jobs/open-telemetry';
import { partMetric, type Telemetry } from '@payonce/leases/telemetry';

/** Every metric of the app: its own, and those of the parts it is made of. A unit in the name is the unit of the value. */
export const metric = {
  ...partMetric,
  paymentOutcome: 'payment.outcome',
  paymentCallMs: 'payment.call_ms',
  paymentUnknownOldestMs: 'payment.unknown_oldest_ms',
  paymentSecond: 'payment.second',
  paymentChecked: 'payment.checked',
  paymentInProgressOldestMs: 'payment.in_progress_oldest_ms',
  paymentEvent: 'payment.event',
  paymentBreakerOpen: 'payment.breaker_open',
  batchStale: 'batch.stale',
  batchLeft: 'batch.left',
  batchRejected: 'batch.rejected',
  messageLockLost: 'message.lock_lost',
  invoiceClaims: 'invoice.claims',
  invoiceOverdue: 'invoice.overdue',
  invoiceOverdueOldestMs: 'invoice.overdue_oldest_ms',
  invoiceBacklog: 'invoice.backlog',
  invoiceBacklogSeconds: 'invoice.backlog_seconds',
  invoiceOldestDueSeconds: 'invoice.oldest_due_seconds',
  invoiceParked: 'invoice.parked',
  invoiceDisputed: 'invoice.disputed',
  refundOverdue: 'refund.overdue',
  refundFailed: 'refund.failed',
  providerKeyRejected: 'provider.key_rejected',
  providerAccountChanged: 'provider.account_changed',
  workItemPoison: 'work_item.poison',
  workItemPoisonWaiting: 'work_item.poison_waiting',
  parkedWaiting: 'parked.waiting',
  auditFailed: 'audit.failed',
  settingsInvalid: 'settings.invalid',
  pausedMs: 'paused_ms',
  archiveMoved: 'archive.moved',
  archiveInvoices: 'archive.invoices',
  archiveFailed: 'archive.failed',
  archiveBehindMs: 'archive.behind_ms',
} as const;

export type Metric = (typeof metric)[keyof typeof metric];

/** Alerts and dashboards know every metric under its name after this. */
export const metricPrefix = 'payonce.';

/** Reports to the OpenTelemetry provider that the process has registered. Without one, it discards everything. */
export function appTelemetry(): Telemetry {
  return openTelemetryMetrics(metrics.getMeter('payonce'), metricPrefix);
}
