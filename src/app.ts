import pLimit from 'p-limit';
import { z } from 'zod';
import { processInvoicesJob } from './claiming/processInvoices.ts';
import { unreadableReport } from './documents/readable.ts';
import { notifyStage } from './followUps/notifyStage.ts';
import { receiptStage } from './followUps/receiptStage.ts';
import { reconcileStage } from './followUps/reconcileStage.ts';
import { shardsCheck } from './invoice/deployedShards.ts';
import { watchParked } from './invoice/watchParked.ts';
import { watchUnknown } from './invoice/watchUnknown.ts';
import { blobLockStore, createLocks } from './locking/index.ts';
import { cosmosAudit, cosmosAuditReader } from './ops/audit.ts';
import { poisonSource, serviceBusDeadLetters } from './ops/deadLetters.ts';
import { opsApi } from './ops/opsApi.ts';
import { createBacklog } from './outbox/backlog.ts';
import { createDispatcher } from './outbox/dispatcher.ts';
import { serviceBusDestination } from './outbox/serviceBusDestination.ts';
import { storageQueueDestination } from './outbox/storageQueueDestination.ts';
import { sweepLockKey, sweepOutbox } from './outbox/sweepOutbox.ts';
import { callWindowMs } from './paying/callWindow.ts';
import { withCircuitBreaker } from './paying/circuitBreaker.ts';
import { defaultSettlementPolicy } from './paying/decideSettlement.ts';
import { consumeBatch } from './paying/executePayments.ts';
import type { PaymentProvider } from './paying/paymentProvider.ts';
import { stripeProvider } from './paying/stripe/stripeProvider.ts';
import { azureClients } from './platform/azureClients.ts';
import { blobContainers, queues, serviceBusQueues } from './platform/azureNames.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { type DeadLetterReason, deadLetter, renewMessageLock } from './platform/heldMessage.ts';
import { sendToQueue } from './platform/sendToQueue.ts';
import { metric, openTelemetryMetrics, type Telemetry } from './platform/telemetry.ts';
import { endManualRun, groupTaskSchema, runManualGroup } from './runs/manualRun.ts';
import { groupRecordSchema } from './runs/runRecord.ts';
import { runScheduled } from './runs/runScheduled.ts';
import { cosmosRunStore } from './runs/runStore.ts';
import type { Settings } from './settings/settings.ts';
import { cosmosEffects } from './workItems/effects.ts';
import { poisonItems } from './workItems/poison.ts';
import { processOrPostpone, type SendAgain } from './workItems/processOrPostpone.ts';

/** Provider calls at once in one process. The provider's own rate limit is the other bound. */
const concurrentCalls = 64;
/** How long outcomes wait for others of their batch, in milliseconds. */
const lingerMs = 250;
/**
 * How long a stopping process waits for leases to be released, for work under way, and for messages to be sent, each, in
 * milliseconds.
 */
const drainMs = 12_000;

/** What a test may put in place of the real thing. */
export interface AppParts {
  clock?: Clock;
  telemetry?: Telemetry;
  provider?: PaymentProvider;
  log?: (message: string) => void;
}

export type App = ReturnType<typeof createApp>;

/** Puts the parts together. One call per process: the clients keep their connections. */
export function createApp(settings: Settings, parts: AppParts = {}) {
  const { clock = systemClock, telemetry = openTelemetryMetrics(), log = console.warn } = parts;
  const { instanceId: instance } = settings;
  const claimStaleMs = settings.claimStaleSeconds * 1000;
  const notifies = settings.notify !== undefined;
  const clients = azureClients(settings);
  const { invoices: container } = clients.containers;
  const lockStore = blobLockStore(clients.blobs.getContainerClient(blobContainers.locks));
  const locks = createLocks(lockStore, { clock, telemetry, leaseSeconds: settings.leaseSeconds });
  const dispatcher = createDispatcher({
    container,
    destinations: {
      'payment-commands': serviceBusDestination(clients.sender(serviceBusQueues.paymentCommands)),
      'work-items': storageQueueDestination(clients.queues.getQueueClient(queues.workItems)),
    },
    clock,
    telemetry,
  });
  const timeoutMs = settings.paymentTimeoutSeconds * 1000;
  const stripe = () =>
    stripeProvider({
      secretKey: settings.stripe.secretKey,
      apiBase: settings.stripe.apiBase,
      timeoutMs,
    });
  const provider = withCircuitBreaker(parts.provider ?? stripe(), { telemetry, log });
  const checkShards = shardsCheck(container, settings.shards);
  const onUnreadable = unreadableReport({ telemetry, log });
  const job = processInvoicesJob({
    container,
    dispatcher,
    clock,
    telemetry,
    shards: settings.shards,
    groups: settings.shardGroups,
    batchSize: settings.batchSize,
    claimStaleMs,
    notifies,
    onUnreadable,
    checkShards,
  });
  const runs = cosmosRunStore(clients.containers.runs);
  const running = { jobs: [job], locks, runs, clock, telemetry, instance };
  const limit = pLimit(concurrentCalls);
  const followUps = createBacklog(dispatcher, clock);
  const commandsReceiver = clients.serviceBus.createReceiver(serviceBusQueues.paymentCommands);
  const paying = {
    deadLetter: (lockToken: string, why: DeadLetterReason) => deadLetter(commandsReceiver, lockToken, why),
    renewLock: (lockToken: string) => renewMessageLock(commandsReceiver, lockToken),
    container,
    provider,
    followUps,
    clock,
    telemetry,
    limit,
    policy: defaultSettlementPolicy,
    claimStaleMs,
    callWindowMs: callWindowMs({ claimStaleMs, timeoutMs }),
    lingerMs,
    by: instance,
    notifies,
  };
  const stages = [
    receiptStage(clients.blobs.getContainerClient(blobContainers.receipts)),
    reconcileStage({ container, provider, clock, by: instance, notifies }),
    ...(settings.notify === undefined ? [] : [notifyStage(settings.notify, { clock })]),
  ];
  const poison = poisonItems(clients.containers.workItems, stages, clock);
  const workItems = clients.queues.getQueueClient(queues.workItems);
  const sendAgain: SendAgain = (item, delayMs) => sendToQueue(workItems, JSON.stringify(item), { delayMs });
  const working = {
    sendAgain,
    stages,
    effects: cosmosEffects(clients.containers.workItems),
    locks,
    clock,
    telemetry,
    instance,
  };

  const underWay = new Set<Promise<unknown>>();

  return {
    settings,
    ops: opsApi({
      container,
      job,
      runs,
      lockStore,
      clock,
      telemetry,
      shards: settings.shards,
      checkShards,
      audit: cosmosAudit(clients.containers.audit, clock),
      readAudit: cosmosAuditReader(clients.containers.audit),
      deadLetters: [
        poisonSource(poison, workItems),
        serviceBusDeadLetters(clients.serviceBus, serviceBusQueues.paymentCommands),
      ],
      healthChecks: [
        { name: 'cosmos', probe: (abortSignal) => container.item('health', '00').read({ abortSignal }) },
        { name: 'shards', probe: checkShards },
        {
          name: 'storage',
          probe: (abortSignal) =>
            clients.blobs.getContainerClient(blobContainers.locks).getProperties({ abortSignal }),
        },
        {
          name: 'serviceBus',
          probe: (abortSignal) =>
            clients.sender(serviceBusQueues.paymentCommands).createMessageBatch({ abortSignal }),
        },
      ],
    }),
    /** A tick of the job's timer. */
    async processInvoices() {
      using _busy = followUps.busy();
      return await runScheduled(job, running, locks.stopping);
    },
    /** A tick of the sweeper's timer; null where another instance sweeps. */
    async sweepOutbox() {
      await using lease = await locks.tryAcquire(sweepLockKey, { instance, job: 'sweep-outbox' });
      if (lease === null) return null;
      const counts = await sweepOutbox({ container, dispatcher, clock, telemetry, onUnreadable }, lease);
      await Promise.all([
        watchUnknown({ container, clock, telemetry }),
        watchParked({ container, telemetry }),
        poison.waiting().then((count) => telemetry.record(metric.workItemPoisonWaiting, count)),
      ]);
      return counts;
    },
    /** One message of the queue of payment commands. One that is none goes to the dead-letter queue, with the reason. */
    executePayments: (message: unknown, delivery?: unknown) =>
      tracked(consumeBatch(paying, { message, delivery, signal: locks.stopping })),
    /** One message of the queue of work items. */
    processWorkItem: (message: unknown) => tracked(workOn(message)),
    /** One message of the poison queue of work items; the answer is why it is there. */
    async recordPoison(message: unknown, messageId: string): Promise<string> {
      telemetry.count(metric.workItemPoison);
      return poison.record(message, messageId);
    },
    /** One group of a manual run. */
    async runJobGroup(task: unknown) {
      using _busy = followUps.busy();
      return await runManualGroup(running, groupTaskSchema.parse(task), locks.stopping);
    },
    /** The end of a manual run. */
    endJobRun: (end: unknown) => endManualRun(running, endOfRunSchema.parse(end)),
    /** Takes no new work, lets the current step finish, releases the leases. */
    async stop() {
      await locks.drain(drainMs);
      await Promise.race([Promise.allSettled(underWay), clock.sleep(drainMs)]);
      await followUps.drained(drainMs);
      await clients.close();
    },
  };

  /** The queue says nothing of why a message failed, so the error is left where the poison record finds it. */
  async function workOn(message: unknown) {
    try {
      return await processOrPostpone(working, message);
    } catch (error) {
      await poison.noteFailure(message, error).catch(() => {});
      throw error;
    }
  }

  /** Work that holds no lease, or not all the time: a stopping process waits for it before it closes its connections. */
  function tracked<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const done = () => underWay.delete(work);
    work.then(done, done);
    return work;
  }
}

const endOfRunSchema = z.strictObject({
  job: z.string(),
  runId: z.string(),
  groups: z.array(groupRecordSchema),
});
