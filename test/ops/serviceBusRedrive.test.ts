import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeadLetterSource } from '../../src/ops/deadLetters.ts';
import { serviceBusDeadLetters } from '../../src/ops/serviceBusDeadLetters.ts';
import { defaultPassLimits } from '../../src/ops/serviceBusRedrive.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

const names = ['locks', 'capped', 'twice', 'often', 'halfway'];
let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests(Object.fromEntries(names.map((name) => [name, {}])));
});
afterAll(() => bus[Symbol.asyncDispose]());

/** Sends messages with these ids, and dead-letters them. */
async function deadLettered(queue: string, ...ids: string[]): Promise<void> {
  const sender = bus.client.createSender(queue);
  await sender.sendMessages(ids.map((messageId) => ({ messageId, body: { messageId } })));
  await sender.close();
  await deadLetterAll(queue);
}

/** Dead-letters everything in the queue, and returns the ids. */
async function deadLetterAll(queue: string): Promise<string[]> {
  const receiver = bus.client.createReceiver(queue);
  const messages = await receiver.receiveMessages(50, { maxWaitTimeInMs: 2_000 });
  for (const message of messages) await receiver.deadLetterMessage(message);
  await receiver.close();
  return messages.map(({ messageId }) => String(messageId));
}

const redriven = (source: DeadLetterSource, ...ids: string[]) =>
  Array.fromAsync(source.redrive(new Set(ids)));

test('locks that expire during a pass do not affect what was sent', async () => {
  await deadLettered('locks', 'a', 'b', 'c', 'd');
  const sent: string[] = [];
  for await (const id of serviceBusDeadLetters(bus.client, 'locks').redrive(new Set(['b', 'c']))) {
    sent.push(id);
    bus.clock.advance(61_000);
  }
  expect(sent).toEqual(['b', 'c']);
  expect(await bus.stats('locks')).toMatchObject({ active: 2 });
});

test.concurrent('an unknown id costs one pass, and the messages passed over can be received again', async () => {
  await deadLettered('capped', ...Array.from({ length: 8 }, (_, n) => `m${n}`));
  const source = serviceBusDeadLetters(bus.client, 'capped', { ...defaultPassLimits, mostReceived: 5 });
  expect(await redriven(source, 'nobody')).toEqual([]);
  expect(await bus.stats('capped')).toMatchObject({ deadLettered: 8, active: 0 });
  // The broker's clock stands still: a message that was not abandoned would stay locked for ever.
  expect(await redriven(source, 'm4')).toEqual(['m4']);
});

test.concurrent('two dead letters with the same id are both redriven, and count as one of the requested ids', async () => {
  await deadLettered('twice', 'same', 'same', 'other');
  const source = serviceBusDeadLetters(bus.client, 'twice');
  expect(await redriven(source, 'same', 'other')).toEqual(['same', 'same', 'other']);
  expect(await bus.stats('twice')).toMatchObject({ deadLettered: 0, active: 3 });
});

test.concurrent('a redriven id never grows beyond what Service Bus accepts, however often it is redriven', async () => {
  const id = randomUUID();
  const ids = [id, `${id}:redriven:901`, `${id}:redriven:901:redriven:922`, 'x'.repeat(128)];
  await deadLettered('often', ...ids);
  expect(await redriven(serviceBusDeadLetters(bus.client, 'often'), ...ids)).toEqual(ids);
  const [first, second, third, longest] = await deadLetterAll('often');
  for (const next of [first, second, third]) {
    expect(next?.split(':')).toEqual([id, 'redriven', expect.stringMatching(/^\d+$/)]);
  }
  expect(new Set([...ids, first, second, third]).size).toBe(7);
  expect(longest).toHaveLength(128);
});

test.concurrent('a send that fails halfway leaves the rest unchanged, and what was sent stays sent', async () => {
  await deadLettered('halfway', 'a', 'b', 'c');
  const sent: string[] = [];
  const pass = async () => {
    const ids = new Set(['a', 'b', 'c']);
    for await (const id of serviceBusDeadLetters(bus.client, 'halfway').redrive(ids)) {
      sent.push(id);
      await bus.setFault({ kind: 'refuse', operation: 'send', queue: 'halfway' });
    }
  };
  await expect(pass()).rejects.toThrow();
  expect(sent).toEqual(['a']);
  expect(await bus.stats('halfway')).toMatchObject({ active: 1 });
});
