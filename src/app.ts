import { checkPayments } from './after/checkPayments.ts';
import { paymentEventStage } from './after/eventStage.ts';
import { receiptFollowUp, receiptStage, receiptWriter } from './after/receipts.ts';
import { type EventRequest, eventIntake } from './after/receiveEvent.ts';
import { refundStage } from './after/refundStage.ts';
import { webhookFollowUp, webhookStage } from './after/webhook.ts';
import { archiving } from './archive/archiving.ts';
import { processInvoicesJob } from './claiming/processInvoices.ts';
import { azureCloud, type Cloud } from './cloud.ts';
import { followUpsOf } from './invoice/followUps.ts';
import { sendingStore } from './invoice/store/invoiceWrites.ts';
import { createLocks, type Invocation, jobLockKey } from './locking/index.ts';
import { blobLocks, type OpenLocks } from './lockStores.ts';
import { bulkJob } from './ops/bulk/bulkJob.ts';
import { callersOf } from './ops/caller.ts';
import { opsApi } from './ops/opsApi.ts';
import { poisonSource } from './ops/poisonSource.ts';
import { sweepAndReport } from './ops/sweepAndReport.ts';
import { createDispatcher, createSender } from './outbox/dispatcher.ts';
import { watchPause } from './pacing/pause.ts';
import { checkedAccount } from './paying/accountCheck.ts';
import { createExecutePayments } from './paying/executePayments.ts';
import { pacedProvider, paymentPace } from './paying/pacedProvider.ts';
import { payingPolicy } from './paying/payingPolicy.ts';
import type { PaymentProvider, ProviderAccount, ProviderEvents } from './paying/paymentProvider.ts';
import { reconciliationFollowUp, reconciliationStage } from './paying/reconciliation.ts';
import { defaultSettlementPolicy } from './paying/settlement.ts';
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
  const { outbox, destinations } = opened;
  const dispatcher = createDispatcher({ outbox, destinations, instance });
  const sender = createSender(dispatcher, clock);
  const cloud: Cloud = { ...opened, invoices: sendingStore(opened.invoices, sender) };
  const { invoices, runs, effects, workItems } = cloud;
  const { shards, shardGroups: groups, batchSize, allowance, leaseSeconds } = settings;
  const claimStaleMs = settings.claimStaleSeconds * 1000;
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const fenceFloor = invoices.highestFence;
  const locks = createLocks(cloud.lockStore, { clock, telemetry, leaseSeconds, fenceFloor });
  const stripe = { ...settings.stripe, timeoutMs };
  const given = parts.provider ?? stripeProvider(stripe);
  const pause = watchPause(cloud.pauses, clock);
  const pace = paymentPace({ store: cloud.pace, instance, stopping: locks.stopping, pause }, allowance);
  const account = checkedAccount(given, cloud.account, instance, pace.lookups, settings.deploymentId);
  const provider = pacedProvider(given, pace, instance, account);
  const webhook = settings.notify === undefined ? [] : [webhookFollowUp];
  const followUps = followUpsOf([receiptFollowUp, reconciliationFollowUp, ...webhook]);

  const paying = payingPolicy({ claimStaleMs, timeoutMs });
  const job = processInvoicesJob(
    { ...cloud, followUps, pause, instance },
    { shards, groups, batchSize, ...paying, ceiling: allowance.rate },
  );
  const executePayments = createExecutePayments(
    { invoices, provider, followUps, sender, messages: cloud.commandMessages, instance },
    paying,
  );
  const writeReceipt = receiptWriter(cloud.receipts);
  const {
    invoices: kept,
    archive,
    customers,
    ...mover
  } = archiving({ ...cloud, writeReceipt }, settings, {
    locks,
    instance,
  });
  const tracking = { invoices: kept, provider, followUps, settlement: defaultSettlementPolicy, instance };
  const stages = [
    receiptStage(cloud.receipts),
    reconciliationStage({ invoices, provider, followUps, instance }),
    refundStage(tracking),
    paymentEventStage(tracking),
    ...(settings.notify === undefined ? [] : [webhookStage(settings.notify, { clock })]),
  ];
  const poison = poisonItems({ ...workItems, store: cloud.poison, stages, clock });
  const processWorkItem = createProcessWorkItem({ ...workItems, stages, effects, locks, poison, instance });
  const deadLetters = [poisonSource(poison, workItems), ...cloud.deadLetters];
  const bulk = bulkJob({ ...cloud, deadLetters, corrections: tracking, instance });
  const running = { jobs: [job, bulk], locks, runs, instance };
  const healthChecks = [...cloud.healthChecks, ...account.healthChecks];
  const shown = {
    ...cloud,
    invoices: kept,
    archive,
    customers,
    shards,
    job,
    bulk,
    deadLetters,
    healthChecks,
  };
  const { track, ended } = workUnderWay(clock);
  const list = {
    ...workItems,
    effects,
    events: parts.events ?? stripeEvents(stripe),
    cursor: cloud.eventCursor,
    pacer: pace.lookups,
  };
  const intake = eventIntake({ ...list, webhookSecrets: settings.webhookSecrets, instance });

  /** The ticks of timers that pay: null while payments are paused. */
  const unlessPaused = async <T>(tick: () => Promise<T>) => {
    await pause.look();
    return pause.gate() === 'open' ? tick() : null;
  };

  return {
    settings,
    ops: opsApi({ ...shown, ...callersOf(settings), corrections: tracking, instance }),
    /** A tick of the job's timer; null while payments are paused. */
    processInvoices: () =>
      unlessPaused(async () => {
        using _busy = sender.busy();
        return await track(runScheduled(job, running, locks.stopping));
      }),
    /** A tick of the sweeper's timer; null if another instance sweeps. */
    async sweepOutbox() {
      const owner = { instance: instance.name, job: 'sweep-outbox' };
      await using lease = await locks.tryAcquire(jobLockKey(owner.job), owner);
      if (lease === null) return null;
      return await sweepAndReport(
        { ...cloud, dispatcher, shards, poison, checkKey: account.checkKey, instance },
        lease,
        locks.stopping,
      );
    },
    /**
     * The other tick of that timer: it reads the list of events, then it asks about payments in progress, refunds and disputes;
     * null if another instance does, or payments are paused.
     */
    trackPayments: () =>
      unlessPaused(async () => {
        const owner = { instance: instance.name, job: 'track-payments' };
        await using lease = await locks.tryAcquire(jobLockKey(owner.job), owner);
        if (lease === null) return null;
        using budget = timeBudget(clock, locks.stopping);
        const listed = await intake.readList(lease, budget.signal);
        return { ...listed, ...(await checkPayments(tracking, lease, budget.signal)) };
      }),
    /** A tick of the archive's timer; undefined if another instance moves invoices. */
    archiveInvoices: (timer: unknown, context: Invocation) => track(mover.tick(timer, context)),
    /** A request of the payment provider, which tells of an event. */
    receiveEvent: (request: EventRequest) => track(intake.receive(request)),
    /** One message of the queue of payment commands. */
    executePayments: (message: unknown, delivery?: unknown) =>
      track(executePayments({ message, delivery, signal: locks.stopping })),
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
      return await answerUnlessStopping(track(runManualGroup(running, task, locks.stopping)));
    },
    /** The end of a manual run. */
    endJobRun: (end: unknown) => track(endManualRun(running, end)),
    /** Ends the app in the time that the host grants (platform/stopping.ts). `sendMetrics`: the last of them. */
    stop: (sendMetrics: () => Promise<void> = async () => {}) =>
      stopApp(clock, { locks, work: ended, sender, sendMetrics, cloud }),
  };
}
