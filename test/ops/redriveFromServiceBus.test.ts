import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DeadLetterSource, serviceBusDeadLetters } from '../../src/ops/deadLetters.ts';
import { defaultPassLimits } from '../../src/ops/deadLettersRedrive.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

const names = ['locks', 'capped', 'twice', 'often', 'halfway'];
let bus: ServiceBusForTests;
beforeAll(async () => {
  bus = await serviceBusForTests(Object.fromEntries(names.map((name) => [name, {}])));
});
afterAll(() => bus[Symbol.asyncDispose]());

/** Sends messages with these ids, and gives them up. */
async function giveUp(queue: string, ...ids: string[]): Promise<void> {
  const sender = bus.client.createSender(queue);
  await sender.sendMessages(ids.map((messageId) => ({ messageId, body: { messageId } })));
  await sender.close();
  await giveUpAll(queue);
}

/** Gives up whatever is in the queue; the answer has the ids. */
async function giveUpAll(queue: string): Promise<string[]> {
  const receiver = bus.client.createReceiver(queue);
  const messages = await receiver.receiveMessages(50, { maxWaitTimeInMs: 2_000 });
  for (const message of messages) await receiver.deadLetterMessage(message);
  await receiver.close();
  return messages.map(({ messageId }) => String(messageId));
}

const redriven = (source: DeadLetterSource, ...ids: string[]) =>
  Array.fromAsync(source.redrive(new Set(ids)));

test('locks that run out on the way take nothing from what was sent', async () => {
  await giveUp('locks', 'a', 'b', 'c', 'd');
  const sent: string[] = [];
  for await (const id of serviceBusDeadLetters(bus.client, 'locks').redrive(new Set(['b', 'c']))) {
    sent.push(id);
    bus.clock.advance(61_000);
  }
  expect(sent).toEqual(['b', 'c']);
  expect(await bus.stats('locks')).toMatchObject({ active: 2 });
});

test.concurrent('an id that is not there ends after one pass, and what was passed by can be received again', async () => {
  await giveUp('capped', ...Array.from({ length: 8 }, (_, n) => `m${n}`));
  const source = serviceBusDeadLetters(bus.client, 'capped', { ...defaultPassLimits, mostReceived: 5 });
  expect(await redriven(source, 'nobody')).toEqual([]);
  expect(await bus.stats('capped')).toMatchObject({ deadLettered: 8, active: 0 });
  // The broker's clock stands still: what was not let go would be locked for ever.
  expect(await redriven(source, 'm4')).toEqual(['m4']);
});

test.concurrent('two dead letters with one id are one id of those that were asked for', async () => {
  await giveUp('twice', 'same', 'same', 'other');
  const source = serviceBusDeadLetters(bus.client, 'twice');
  expect(await redriven(source, 'same', 'other')).toEqual(['same', 'same', 'other']);
  expect(await bus.stats('twice')).toMatchObject({ deadLettered: 0, active: 3 });
});

test.concurrent('however often a message is redriven, its id stays as long as Service Bus takes one', async () => {
  const id = randomUUID();
  const ids = [id, `${id}:redriven:901`, `${id}:redriven:901:redriven:922`, 'x'.repeat(128)];
  await giveUp('often', ...ids);
  expect(await redriven(serviceBusDeadLetters(bus.client, 'often'), ...ids)).toEqual(ids);
  const [first, second, third, longest] = await giveUpAll('often');
  for (const next of [first, second, third]) {
    expect(next?.split(':')).toEqual([id, 'redriven', expect.stringMatching(/^\d+$/)]);
  }
  expect(new Set([...ids, first, second, third]).size).toBe(7);
  expect(longest).toHaveLength(128);
});

test.concurrent('a send that fails halfway leaves the rest as it was, and keeps what was sent', async () => {
  await giveUp('halfway', 'a', 'b', 'c');
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
