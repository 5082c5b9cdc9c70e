import type { Instance } from '@payonce/jobs/instance';
import { createDispatcher, createSender } from '@payonce/jobs/outbox';
import { watchPause } from '@payonce/jobs/rate';
import { runScheduled } from '@payonce/jobs/runs';
import { answerUnlessStopping, endManualRun, runManualGroup } from '@payonce/jobs/runs/durable';
import { stopApp, timeBudget, workInFlight } from '@payonce/jobs/stopping';
import { createProcessWorkItem, poisonItems } from '@payonce/jobs/work-items';
import { createLocks, jobLockKey, type Lease } from '@payonce/leases';
import { systemClock } from '@payonce/leases/clock';
import { afterPayments, appFollowUps } from './after/afterPayments.ts';
import { receiptWriter } from './after/receipts.ts';
import type { EventRequest } from './after/receiveEvent.ts';
import { archiving } from './archive/archiving.ts';
import { processInvoicesJob } from './claiming/processInvoices.ts';
import { azureCloud, type Cloud } from './cloud.ts';
import { sendingStore } from './invoice/store/invoiceWrites.ts';
import { blobLocks, type OpenLocks } from './lockStores.ts';
import { operations } from './ops/opsApi.ts';
import { sweepAndReport } from './ops/sweepAndReport.ts';
import { payingPolicy } from './paying/payingPolicy.ts';
import type { PaymentProvider, ProviderAccount, ProviderEvents } from './paying/paymentProvider.ts';
import { payments } from './paying/payments.ts';
import { appTelemetry, metric } from './platform/appMetrics.ts';
import type { Settings } from './settings/settings.ts';
import { stripeEvents } from './stripe/stripeEvents.ts';
import { stripeProvider } from './stripe/stripeProvider.ts';

/** Parts that a test or a simulation may replace. */
export interface AppParts extends Partial<Omit<Instance, 'name'>> {
  provider?: PaymentProvider & ProviderAccount;
  /** The list of its events, for those who have no webhook. */
  events?: ProviderEvents;
  cloud?: (instance: Instance) => Cloud;
  /** The store that `LOCKS` names. Default: blobs. */
  openLocks?: OpenLocks;
}

export type App = ReturnType<typeof createApp>;

/** Puts the parts together. One call per process: the clients keep their connections. */
export function createApp(settings: Settings, parts: AppParts = {}) {
  const { clock = systemClock, telemetry = appTelemetry(), log = console.warn } = parts;
  const instance: Instance = { name: settings.instanceId, clock, telemetry, log };
  const opened = parts.cloud?.(instance) ?? azureCloud(settings, instance, parts.openLocks ?? blobLocks);
  const dispatcher = createDispatcher({ ...opened, instance });
  const sender = createSender(dispatcher, clock);
  const invoices = sendingStore(opened.invoices, sender);
  const { leaseSeconds, shards, shardGroups: groups, batchSize, allowance } = settings;
  const locks = createLocks(opened.lockStore, { ...instance, leaseSeconds });
  const { stopping } = locks;
  const pause = watchPause(opened.pauses, clock);
  const followUps = appFollowUps(settings);
  const { workItems } = opened;
  /** Dependencies that several parts share. */
  const cloud = { ...opened, invoices, locks, stopping, dispatcher, sender, pause, followUps, instance };
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const stripe = { ...settings.stripe, timeoutMs };
  const policy = payingPolicy({ claimStaleMs: settings.claimStaleSeconds * 1000, timeoutMs });
  const charging = { ...cloud, messages: cloud.commandMessages };
  const paying = payments(parts.provider ?? stripeProvider(stripe), charging, policy, settings);
  const job = processInvoicesJob(cloud, { shards, groups, batchSize, ...policy, ceiling: allowance.rate });
  const archived = archiving({ ...cloud, writeReceipt: receiptWriter(cloud.receipts) }, settings, cloud);
  const events = parts.events ?? stripeEvents(stripe);
  const asked = { ...archived, ...paying, pacer: paying.lookups, events, cursor: cloud.eventCursor };
  const after = afterPayments({ ...cloud, ...workItems, ...asked, stored: invoices }, settings);
  const poison = poisonItems({ ...workItems, ...after, store: cloud.poison, clock });
  const processWorkItem = createProcessWorkItem({ ...cloud, ...workItems, ...after, poison });
  const healthChecks = [...cloud.healthChecks, ...paying.healthChecks];
  const { account } = paying;
  const ops = operations({ ...cloud, ...archived, ...after, poison, job, healthChecks, account }, settings);
  const running = { ...cloud, jobs: [job, ops.bulk] };
  const swept = { ...cloud, ...paying, shards, poison };
  const { track, ended } = workInFlight(clock);

  /** A tick of a timer that pays: null while payments are paused. */
  const unlessPaused = async <T>(tick: () => Promise<T>) => {
    await pause.look();
    return pause.gate() === 'open' ? tick() : null;
  };
  /** A tick that one instance does: null if another one does it. */
  const alone = async <T>(name: string, tick: (lease: Lease) => Promise<T>) => {
    await using lease = await locks.tryAcquire(jobLockKey(name), { instance: instance.name, job: name });
    return lease === null ? null : await tick(lease);
  };
  const follow = async (lease: Lease) => {
    using budget = timeBudget(clock, stopping);
    return await after.track(lease, budget.signal);
  };
  /** Urgent work: receipts wait until it ends. */
  const busy = async <T>(work: () => Promise<T>) => {
    using _busy = sender.busy();
    return await track(work());
  };

  return {
    settings,
    ops: ops.calls,
    // Ticks of the timers.
    processInvoices: () => unlessPaused(() => busy(() => runScheduled(job, running, stopping))),
    sweepOutbox: () => alone('sweep-outbox', (lease) => sweepAndReport(swept, lease, stopping)),
    trackPayments: () => unlessPaused(() => alone('track-payments', follow)),
    archiveInvoices: () => track(alone('archive-invoices', archived.move)),
    /** A request of the payment provider, which tells of an event. */
    receiveEvent: (request: EventRequest) => track(after.receive(request)),
    executePayments: (message: unknown, delivery?: unknown) =>
      track(paying.execute({ message, delivery, signal: stopping })),
    processWorkItem: (message: unknown) => track(processWorkItem(message)),
    /** The answer says why it is there, or what became of it. */
    recordPoison(message: unknown, messageId: string) {
      telemetry.count(metric.workItemPoison);
      return poison.record(message, messageId);
    },
    runJobGroup: (task: unknown) => answerUnlessStopping(busy(() => runManualGroup(running, task, stopping))),
    endJobRun: (end: unknown) => track(endManualRun(running, end)),
    /** Ends the app in the time that the host grants. `sendMetrics`: the last of them. */
    stop: (sendMetrics: () => Promise<void> = async () => {}) =>
      stopApp(clock, { locks, work: ended, sender, sendMetrics, cloud }),
  };
}
