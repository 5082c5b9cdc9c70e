import { randomUUID } from 'node:crypto';
import { QueueServiceClient } from '@azure/storage-queue';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { NotifyFailed } from '../../src/followUps/notifyStage.ts';
import { NotReconciled } from '../../src/followUps/reconcileStage.ts';
import { sendToQueue } from '../../src/platform/sendToQueue.ts';
import { longestRetryMs } from '../../src/workItems/decidePostponement.ts';
import { defineStage } from '../../src/workItems/defineStage.ts';
import { cosmosEffects } from '../../src/workItems/effects.ts';
import { processOrPostpone } from '../../src/workItems/processOrPostpone.ts';
import { WorkItemRefused } from '../../src/workItems/processWorkItem.ts';
import type { WorkItem } from '../../src/workItems/workItem.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

/** A worker with one stage, `ring`, that needs somebody who may be ill. */
function worker(container = cosmos.containers.workItems) {
  const world = virtualLocks();
  const rung: string[] = [];
  const outside = { illness: undefined as Error | undefined };
  const ring = defineStage({
    name: 'ring',
    input: z.strictObject({}),
    async handle(_input, { resourceId }) {
      if (outside.illness !== undefined) throw outside.illness;
      rung.push(resourceId);
      return {};
    },
  });
  const sent: { item: WorkItem; delayMs: number }[] = [];
  const dependencies = {
    ...world,
    stages: [ring],
    effects: cosmosEffects(container),
    instance: 'host-a',
    sendAgain: async (item: WorkItem, delayMs: number) => void sent.push({ item, delayMs }),
  };
  return {
    world,
    outside,
    rung,
    sent,
    work: (message: unknown) => processOrPostpone(dependencies, message),
  };
}

const item = (resourceId: string) => ({ resourceId, stage: 'ring', input: {} });

describe('processOrPostpone', () => {
  test('a store that does not let the app in: later, for as long as a role or a rule takes to be set right', async () => {
    const { work, sent, rung } = worker(cosmos.denied.workItems);
    expect(await work(item(randomUUID()))).toBe('postponed');
    expect(sent).toHaveLength(1);
    expect(rung).toEqual([]);
  });

  test.each([new NotReconciled('the provider cannot say'), new NotifyFailed('the webhook answered 503')])(
    '%o: sent again for later, with the count of its tries',
    async (illness) => {
      const { work, outside, sent, world } = worker();
      outside.illness = illness;
      const id = randomUUID();
      expect(await work(item(id))).toBe('postponed');
      const since = new Date(world.clock.now()).toISOString();
      expect(sent).toEqual([
        { item: { ...item(id), retry: { tries: 1, since } }, delayMs: expect.any(Number) },
      ]);
      expect(await work(sent[0]?.item)).toBe('postponed');
      expect(sent[1]?.item.retry).toEqual({ tries: 2, since });
      expect(sent[1]?.delayMs).toBeGreaterThanOrEqual(16_000);
    },
  );

  test('an outage of hours costs nothing but time', async () => {
    const { work, outside, sent, rung, world } = worker();
    outside.illness = new NotifyFailed('down');
    let message: unknown = item('patient');
    const recovery = world.clock.now() + 6 * 3_600_000;
    for (;;) {
      if (world.clock.now() >= recovery) outside.illness = undefined;
      if ((await work(message)) === 'done') break;
      const { item: next, delayMs } = sent.at(-1) ?? { item: undefined, delayMs: 0 };
      message = next;
      await world.clock.advance(delayMs);
    }
    expect(rung).toEqual(['patient']);
    expect(sent.length).toBeLessThan(40);
  });

  test('after a day it fails, for the queue to give it up', async () => {
    const { work, outside, sent, world } = worker();
    outside.illness = new NotifyFailed('down');
    const since = new Date(world.clock.now() - longestRetryMs).toISOString();
    await expect(work({ ...item('old'), retry: { tries: 100, since } })).rejects.toThrow(NotifyFailed);
    expect(sent).toEqual([]);
  });

  test('a store that is away postpones it as well', async () => {
    const { work, sent } = worker();
    await cosmos.fault({ kind: '503', count: 20, filter: { container: 'workItems' } });
    expect(await work(item('storeless'))).toBe('postponed');
    await cosmos.clearFaults();
    expect(await work(sent[0]?.item)).toBe('done');
  });

  test('a process that dies after it was sent again leaves two copies, and they have one effect', async () => {
    const { work, outside, sent, rung } = worker();
    outside.illness = new NotifyFailed('down');
    await work(item('copied'));
    outside.illness = undefined;
    expect(await work(item('copied'))).toBe('done');
    expect(await work(sent[0]?.item)).toBe('doneBefore');
    expect(rung).toEqual(['copied']);
  });

  test.each([
    ['a bug', item('bug'), new TypeError('undefined is no function'), TypeError],
    ['a message that is no work item', { ...item('x'), stage: 'rnig' }, undefined, WorkItemRefused],
  ])('%s is left to the queue’s own deliveries', async (_what, message, illness, error) => {
    const { work, outside, sent } = worker();
    outside.illness = illness;
    await expect(work(message)).rejects.toThrow(error);
    expect(sent).toEqual([]);
  });

  test('what is sent for later is not seen before', async () => {
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
