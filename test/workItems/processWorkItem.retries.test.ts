import { randomUUID } from 'node:crypto';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { formatVersion } from '../../packages/jobs/src/documents/storedDocuments.ts';
import { sendToQueue } from '../../packages/jobs/src/outbox/storageQueueDestination.ts';
import { cosmosEffects } from '../../packages/jobs/src/workItems/cosmosWorkItems.ts';
import { longestRefusedMs, RetryLater, RetryForADay } from '../../packages/jobs/src/workItems/nextTry.ts';
import { createProcessWorkItem } from '../../packages/jobs/src/workItems/processWorkItem.ts';
import { defineStage, type WorkItem, WorkItemRefused } from '../../packages/jobs/src/workItems/workItem.ts';
import { LockTimeout, workItemLockKey } from '../../packages/leases/src/index.ts';
import { partMetric } from '../../packages/leases/src/telemetry.ts';
import { anInstance } from '../support/anInstance.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A consumer with one stage, `ring`, which throws `outside.fault` if it is set; its queue throws `outside.queueFault`. */
function worker(container = cosmos.containers.workItems) {
  const world = virtualLocks();
  const { locks, clock, telemetry } = world;
  const rung: string[] = [];
  const outside = { fault: undefined as Error | undefined, queueFault: undefined as Error | undefined };
  const ring = defineStage({
    name: 'ring',
    input: z.strictObject({}),
    async handle(_input, { resourceId }) {
      if (outside.fault !== undefined) throw outside.fault;
      rung.push(resourceId);
      return {};
    },
  });
  const sent: { item: WorkItem; delayMs: number }[] = [];
  const noted: { message: unknown; error: unknown }[] = [];
  const work = createProcessWorkItem({
    stages: [ring],
    effects: cosmosEffects(container),
    locks,
    async sendAgain(message, delayMs) {
      if (outside.queueFault !== undefined) throw outside.queueFault;
      sent.push({ item: message as WorkItem, delayMs });
    },
    poison: { noteFailure: async (message, error) => void noted.push({ message, error }) },
    instance: anInstance({ clock, telemetry }),
  });
  return { world, outside, rung, sent, noted, work };
}

const item = (resourceId: string) => ({ resourceId, stage: 'ring', input: {} });

describe('a work item that cannot be done now', () => {
  test('is retried if the store denies access, for as long as it takes to correct a role or a rule', async () => {
    const { work, sent, rung } = worker(cosmos.denied.workItems);
    expect(await work(item(randomUUID()))).toBe('retried');
    expect(sent).toHaveLength(1);
    expect(rung).toEqual([]);
  });

  test.each([new RetryLater('the provider cannot say'), new RetryLater('the webhook answered 503')])(
    '%o: sent again for later, with the count of its tries',
    async (fault) => {
      const { work, outside, sent, noted, world } = worker();
      outside.fault = fault;
      const id = randomUUID();
      expect(await work(item(id))).toBe('retried');
      const since = new Date(world.clock.now()).toISOString();
      expect(sent).toEqual([
        { item: { ...item(id), retry: { tries: 1, since } }, delayMs: expect.any(Number) },
      ]);
      await world.clock.advance(sent[0]?.delayMs ?? 0);
      expect(await work(sent[0]?.item)).toBe('retried');
      expect(sent[1]?.item.retry).toEqual({ tries: 2, since });
      expect(sent[1]?.delayMs).toBeGreaterThanOrEqual(16_000);
      expect(noted).toEqual([]);
    },
  );

  test('is done after an outage of hours', async () => {
    const { work, outside, sent, rung, world } = worker();
    outside.fault = new RetryLater('down');
    let message: unknown = item('patient');
    const recovery = world.clock.now() + 6 * 3_600_000;
    for (;;) {
      if (world.clock.now() >= recovery) outside.fault = undefined;
      if ((await work(message)) === 'done') break;
      const { item: next, delayMs } = sent.at(-1) ?? { item: undefined, delayMs: 0 };
      message = next;
      await world.clock.advance(delayMs);
    }
    expect(rung).toEqual(['patient']);
    expect(sent.length).toBeLessThan(60);
  });

  test('is retried for ever: after 30 hours it is done', async () => {
    const { work, outside, sent, rung, world } = worker();
    outside.fault = new RetryLater('down');
    const since = new Date(world.clock.now() - 30 * 3_600_000).toISOString();
    expect(await work({ ...item('weekend'), retry: { tries: 200, since } })).toBe('retried');
    expect(world.telemetry.values(partMetric.workItemWaitedMs)).toEqual([30 * 3_600_000]);
    outside.fault = undefined;
    expect(await work(sent[0]?.item)).toBe('done');
    expect(rung).toEqual(['weekend']);
  });

  test('fails a day after it was refused itself, so that the queue gives it up', async () => {
    const { work, outside, sent, noted, world } = worker();
    outside.fault = new RetryForADay('refused');
    const refusedSince = new Date(world.clock.now() - longestRefusedMs).toISOString();
    const message = { ...item('old'), retry: { tries: 100, since: refusedSince, refusedSince } };
    await expect(work(message)).rejects.toThrow(RetryForADay);
    expect(sent).toEqual([]);
    expect(noted).toEqual([{ message, error: outside.fault }]);
  });

  test('is retried if the store is away', async () => {
    const { work, sent } = worker();
    await cosmos.fault({ kind: '503', count: 20, filter: { container: 'workItems' } });
    expect(await work(item('storeless'))).toBe('retried');
    await cosmos.clearFaults();
    expect(await work(sent[0]?.item)).toBe('done');
  });

  test('is retried if the store of locks is away', async () => {
    const { work, sent, noted, rung, world } = worker();
    world.network.fault = () => ({ kind: 'status', status: 503 });
    const working = work(item('lockless'));
    await world.clock.advance(10_000);
    expect(await working).toBe('retried');
    expect(noted).toEqual([]);
    expect(rung).toEqual([]);
    world.network.fault = () => ({ kind: 'none' });
    expect(await work(sent[0]?.item)).toBe('done');
  });

  test('takes effect once, even if its process dies after sending it again and leaves two copies', async () => {
    const { work, outside, sent, rung } = worker();
    outside.fault = new RetryLater('down');
    await work(item('copied'));
    outside.fault = undefined;
    expect(await work(item('copied'))).toBe('done');
    expect(await work(sent[0]?.item)).toBe('doneBefore');
    expect(rung).toEqual(['copied']);
  });

  test('keeps the fields that this release does not know', async () => {
    const { work, outside, sent, world } = worker();
    outside.fault = new RetryLater('down');
    const since = new Date(world.clock.now()).toISOString();
    const message = { ...item('later'), priority: 'high', retry: { tries: 1, since, hint: ['x'] } };
    expect(await work(message)).toBe('retried');
    expect(sent).toEqual([
      { item: { ...message, retry: { tries: 2, since, hint: ['x'] } }, delayMs: expect.any(Number) },
    ]);
  });

  test('is invisible in the queue until its delay is over', async () => {
    const service = QueueServiceClient.fromConnectionString(inject('azurite'));
    const queue = service.getQueueClient(`later-${randomUUID()}`);
    await queue.create();
    await sendToQueue(queue, 'later', { delayMs: 60_000 });
    await sendToQueue(queue, 'now');
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    const texts = receivedMessageItems.map(({ messageText }) =>
      Buffer.from(messageText, 'base64').toString(),
    );
    expect(texts).toEqual(['now']);
    expect((await queue.getProperties()).approximateMessagesCount).toBe(2);
  });
});

describe('any other failure', () => {
  test('a lease that is held elsewhere is left to the queue’s own deliveries', async () => {
    const { work, rung, sent, noted, world } = worker();
    const other = virtualLocks({}, world);
    await using _held = await other.locks.acquire(
      workItemLockKey('held', 'ring'),
      { instance: 'host-b', job: 'x' },
      { waitMs: 0, fenced: false },
    );
    const working = work(item('held')).catch((error: unknown) => error);
    for (let n = 0; n < 10; n++) await world.clock.advance(1_000);
    expect(await working).toBeInstanceOf(LockTimeout);
    expect(rung).toEqual([]);
    expect(sent).toEqual([]);
    expect(noted).toEqual([{ message: item('held'), error: expect.any(LockTimeout) }]);
  });

  test.each([
    ['to retry', item('unsent')],
    ['to send again', { ...item('unsent'), version: formatVersion + 1 }],
  ])('a work item %s that cannot be sent again rejects, and the error is kept', async (_what, message) => {
    const { work, outside, noted } = worker();
    outside.fault = new RetryLater('down');
    outside.queueFault = new Error('the queue is away');
    await expect(work(message)).rejects.toBe(outside.queueFault);
    expect(noted).toEqual([{ message, error: outside.queueFault }]);
  });

  test.each([
    ['a bug', item('bug'), new TypeError('undefined is no function'), TypeError],
    ['a message that is not a work item', { ...item('x'), stage: 'rnig' }, undefined, WorkItemRefused],
  ])(
    '%s is left to the queue’s own deliveries, and its error is kept',
    async (_what, message, fault, error) => {
      const { work, outside, sent, noted } = worker();
      outside.fault = fault;
      await expect(work(message)).rejects.toThrow(error);
      expect(sent).toEqual([]);
      expect(noted).toEqual([{ message, error: expect.any(error) }]);
    },
  );

  test('its error is thrown even if it cannot be kept', async () => {
    const { locks, clock, telemetry } = virtualLocks();
    const work = createProcessWorkItem({
      stages: [],
      effects: cosmosEffects(cosmos.containers.workItems),
      locks,
      sendAgain: () => Promise.reject(new Error('nothing is sent again')),
      poison: { noteFailure: () => Promise.reject(new Error('the store is full')) },
      instance: anInstance({ clock, telemetry }),
    });
    await expect(work(item('unnoted'))).rejects.toThrow(WorkItemRefused);
  });
});

describe('a work item of a newer release', () => {
  test.each([
    ['that this release could read', { ...item('newer'), priority: 'high' }],
    ['with a stage that this release does not have', { ...item('newer'), stage: 'wring', until: '9 pm' }],
    ['of another shape', { resources: [{ id: 'newer' }], stage: 5 }],
  ])('%s is sent again unchanged, and never poisoned', async (_what, content) => {
    const { work, rung, sent, noted, world } = worker();
    const message = { ...content, version: formatVersion + 1 };
    const before = structuredClone(message);
    for (let deliveries = 1; deliveries <= 6; deliveries++) {
      expect(await work(sent.at(-1)?.item ?? message)).toBe('resent');
      expect(sent.at(-1)).toEqual({ item: before, delayMs: 30_000 });
      // A copy that comes before is as good as sent.
      expect(await work(message)).toBe('resent');
      await world.clock.advance(30_000);
    }
    expect(sent).toHaveLength(6);
    expect(rung).toEqual([]);
    expect(noted).toEqual([]);
    expect(world.calls).toEqual([]);
    expect(world.telemetry.values(partMetric.workItemRetried)).toEqual([]);
  });

  test('is done if its version is the one that this release writes', async () => {
    const { work, rung, sent } = worker();
    expect(await work({ ...item('same version'), version: formatVersion })).toBe('done');
    expect(rung).toEqual(['same version']);
    expect(sent).toEqual([]);
  });
});
