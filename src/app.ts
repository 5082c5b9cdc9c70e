import { afterPayments, appFollowUps } from './after/afterPayments.ts';
import { receiptWriter } from './after/receipts.ts';
import type { EventRequest } from './after/receiveEvent.ts';
import { archiving } from './archive/archiving.ts';
import { processInvoicesJob } from './claiming/processInvoices.ts';
import { azureCloud, type Cloud } from './cloud.ts';
import { sendingStore } from './invoice/store/invoiceWrites.ts';
import { createLocks, type Invocation, jobLockKey, type Lease } from './locking/index.ts';
import { blobLocks, type OpenLocks } from './lockStores.ts';
import { bulkJob } from './ops/bulk/bulkJob.ts';
import { callersOf } from './ops/caller.ts';
import { poisonSource } from './ops/deadLetters.ts';
import { opsApi } from './ops/opsApi.ts';
import { sweepAndReport } from './ops/sweepAndReport.ts';
import { createDispatcher, createSender } from './outbox/dispatcher.ts';
import { watchPause } from './pacing/pause.ts';
import { payingPolicy } from './paying/payingPolicy.ts';
import type { PaymentProvider, ProviderAccount, ProviderEvents } from './paying/paymentProvider.ts';
import { payments } from './paying/payments.ts';
import { appTelemetry, metric } from './platform/appMetrics.ts';
import { systemClock } from './platform/clock.ts';
import type { Instance } from './platform/instance.ts';
import { stopApp, timeBudget, workUnderWay } from './platform/stopping.ts';
import { answerUnlessStopping, endManualRun, runManualGroup } from './runs/manualRun.ts';
import { runScheduled } from './runs/runScheduled.ts';
import type { Settings } from './settings/settings.ts';
import { stripeEvents } from './stripe/stripeEvents.ts';
import { stripeProvider } from './stripe/stripeProvider.ts';
import { poisonItems } from './workItems/poison.ts';
import { createProcessWorkItem } from './workItems/processWorkItem.ts';

/** What a test or a simulation may replace. */
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
  const cloud: Cloud = { ...opened, invoices: sendingStore(opened.invoices, sender) };
  const { invoices, runs, effects, workItems } = cloud;
  const { shards, shardGroups: groups, batchSize, allowance, leaseSeconds } = settings;
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const fenceFloor = invoices.highestFence;
  const locks = createLocks(cloud.lockStore, { clock, telemetry, leaseSeconds, fenceFloor });
  const { stopping } = locks;
  const stripe = { ...settings.stripe, timeoutMs };
  const pause = watchPause(cloud.pauses, clock);
  const followUps = appFollowUps(settings);
  const policy = payingPolicy({ claimStaleMs: settings.claimStaleSeconds * 1000, timeoutMs });
  const paying = payments(
    parts.provider ?? stripeProvider(stripe),
    { ...cloud, messages: cloud.commandMessages, followUps, sender, pause, stopping, instance },
    policy,
    settings,
  );
  const job = processInvoicesJob(
    { ...cloud, followUps, pause, instance },
    { shards, groups, batchSize, ...policy, ceiling: allowance.rate },
  );
  const writeReceipt = receiptWriter(cloud.receipts);
  const archived = archiving({ ...cloud, writeReceipt }, settings, { locks, instance });
  const after = afterPayments(
    {
      ...cloud,
      ...workItems,
      stored: invoices,
      invoices: archived.invoices,
      events: parts.events ?? stripeEvents(stripe),
      cursor: cloud.eventCursor,
      pacer: paying.lookups,
      provider: paying.provider,
      followUps,
      instance,
    },
    settings,
  );
  const { corrections, stages } = after;
  const poison = poisonItems({ ...workItems, store: cloud.poison, stages, clock });
  const processWorkItem = createProcessWorkItem({ ...workItems, stages, effects, locks, poison, instance });
  const deadLetters = [poisonSource(poison, workItems), ...cloud.deadLetters];
  const bulk = bulkJob({ ...cloud, deadLetters, corrections, instance });
  const running = { jobs: [job, bulk], locks, runs, instance };
  const healthChecks = [...cloud.healthChecks, ...paying.healthChecks];
  const shown = {
    ...cloud,
    ...archived,
    shards,
    job,
    bulk,
    deadLetters,
    healthChecks,
    corrections,
    instance,
  };
  const { track, ended } = workUnderWay(clock);

  /** A tick of a timer that pays: null while payments are paused. */
  const unlessPaused = async <T>(tick: () => Promise<T>) => {
    await pause.look();
    return pause.gate() === 'open' ? tick() : null;
  };
  /** A tick that one instance does: null if another one does it. */
  const alone = async <T>(name: string, tick: (lease: Lease) => Promise<T>) => {
    const owner = { instance: instance.name, job: name };
    await using lease = await locks.tryAcquire(jobLockKey(name), owner);
    return lease === null ? null : await tick(lease);
  };

  return {
    settings,
    ops: opsApi({ ...shown, ...callersOf(settings) }),
    /** A tick of the job's timer. */
    processInvoices: () =>
      unlessPaused(async () => {
        using _busy = sender.busy();
        return await track(runScheduled(job, running, stopping));
      }),
    /** A tick of the sweeper's timer. */
    sweepOutbox: () =>
      alone('sweep-outbox', (lease) => {
        const { checkKey } = paying;
        return sweepAndReport({ ...cloud, dispatcher, shards, poison, checkKey, instance }, lease, stopping);
      }),
    /** The other tick of that timer. */
    trackPayments: () =>
      unlessPaused(() =>
        alone('track-payments', async (lease) => {
          using budget = timeBudget(clock, stopping);
          return await after.track(lease, budget.signal);
        }),
      ),
    /** A tick of the archive's timer; undefined if another instance moves invoices. */
    archiveInvoices: (timer: unknown, context: Invocation) => track(archived.tick(timer, context)),
    /** A request of the payment provider, which tells of an event. */
    receiveEvent: (request: EventRequest) => track(after.receive(request)),
    /** One message of the queue of payment commands. */
    executePayments: (message: unknown, delivery?: unknown) =>
      track(paying.execute({ message, delivery, signal: stopping })),
    /** One message of the queue of work items. */
    processWorkItem: (message: unknown) => track(processWorkItem(message)),
    /** One message of the poison queue of work items; the answer says why it is there, or what became of it. */
    recordPoison(message: unknown, messageId: string) {
      telemetry.count(metric.workItemPoison);
      return poison.record(message, messageId);
    },
    /** One group of a manual run. */
    async runJobGroup(task: unknown) {
      using _busy = sender.busy();
      return await answerUnlessStopping(track(runManualGroup(running, task, stopping)));
    },
    /** The end of a manual run. */
    endJobRun: (end: unknown) => track(endManualRun(running, end)),
    /** Ends the app in the time that the host grants (platform/stopping.ts). `sendMetrics`: the last of them. */
    stop: (sendMetrics: () => Promise<void> = async () => {}) =>
      stopApp(clock, { locks, work: ended, sender, sendMetrics, cloud }),
  };
}
