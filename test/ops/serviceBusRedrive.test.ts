import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeadLetterSource } from '../../packages/jobs/src/deadLetters/deadLetters.ts';
import {
  defaultPassLimits,
  serviceBusDeadLetters,
} from '../../packages/jobs/src/deadLetters/serviceBusDeadLetters.ts';
import { Idle, type RunCounts } from '../../packages/jobs/src/runs/job.ts';
import { addCounts } from '../../packages/jobs/src/runs/runProgress.ts';
import { messagePieces, movePiece } from '../../src/ops/bulk/bulkMessages.ts';
import { idsMoved } from '../support/movedLetters.ts';
import { isFull } from '../support/onlyInFull.ts';
import { type ServiceBusForTests, serviceBusForTests } from '../support/serviceBusForTests.ts';

const names = ['locks', 'capped', 'unknown', 'elsewhere', 'twice', 'often', 'halfway', 'deep', 'bulk'];
let bus: ServiceBusForTests;
beforeAll(async () => {
  const properties = { DeadLetteringOnMessageExpiration: true };
  bus = await serviceBusForTests(Object.fromEntries(names.map((name) => [name, properties])));
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

const redriven = (source: DeadLetterSource, ...ids: string[]) => idsMoved(source.redrive(new Set(ids)));

/** Sends thousands of messages that expire at once, which makes them dead letters. */
async function expired(queue: string, ids: readonly string[]): Promise<void> {
  const sender = bus.client.createSender(queue);
  for (let from = 0; from < ids.length; from += 500) {
    const some = ids.slice(from, from + 500);
    await sender.sendMessages(some.map((messageId) => ({ messageId, body: {}, timeToLive: 1_000 })));
  }
  await sender.close();
  bus.clock.advance(2_000);
}

/** Dead letters that nobody wants, in front of those that are wanted. */
const others = isFull ? 5_000 : 1_000;
const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('locks that expire during a pass do not affect what was sent', async () => {
  await deadLettered('locks', 'a', 'b', 'c', 'd');
  const sent: string[] = [];
  for await (const { id } of serviceBusDeadLetters(bus.client, 'locks').redrive(new Set(['b', 'c']))) {
    sent.push(id);
    bus.clock.advance(61_000);
  }
  expect(sent).toEqual(['b', 'c']);
  expect(await bus.stats('locks')).toMatchObject({ active: 2 });
});

test(`one message behind ${others} others is redriven, and none of those stays locked`, async () => {
  await expired('deep', numbered('f', others));
  await deadLettered('deep', 'wanted');
  const source = serviceBusDeadLetters(bus.client, 'deep');
  expect(await redriven(source, 'wanted')).toEqual(['wanted']);
  // The broker's clock stands still: a message that was not abandoned would stay locked for ever.
  const last = `f${others - 1}`;
  expect(await redriven(source, last, 'f0')).toEqual(['f0', last]);
  expect(await bus.stats('deep')).toMatchObject({ active: 3, deadLettered: others - 2 });
}, 120_000);

test(`a bulk run reaches all that match behind ${others} others, and ends`, async () => {
  await expired('bulk', numbered('f', others));
  const after = new Date(bus.clock.now()).toISOString();
  await expired('bulk', numbered('m', 1_150));
  const parts = {
    outbox: {
      list: () => Promise.reject(new Error('not asked for')),
      redrive: () => Promise.reject(new Error('not asked for')),
      discard: () => Promise.reject(new Error('not asked for')),
    },
    deadLetters: [serviceBusDeadLetters(bus.client, 'bulk')],
  };
  const who = { runId: 'r', actor: 'ada', reason: 'a test', at: '2026-01-01T00:00:00.000Z', again: false };
  const filter = { from: 'dead-letters' as const, after };
  let counts: RunCounts = {};
  for await (const piece of messagePieces(parts, filter, { runId: 'r', dryRun: false })) {
    if (piece instanceof Idle) continue;
    counts = addCounts(counts, await movePiece(parts, 'discard', piece, { ...who, assertHeld() {} }));
  }
  expect(counts).toEqual({ discarded: 1_150 });
  expect(await bus.stats('bulk')).toMatchObject({ active: 0, deadLettered: others });
}, 120_000);

test.concurrent('an id that is not there costs a look at the queue, and no lock', async () => {
  await deadLettered('unknown', ...numbered('m', 8));
  const before = await bus.stats('unknown');
  expect(
    await Array.fromAsync(serviceBusDeadLetters(bus.client, 'unknown').redrive(new Set(['nobody']))),
  ).toEqual([]);
  expect(await bus.stats('unknown')).toEqual(before);
});

test.concurrent('what lies deeper than a pass may go stays, with the reason, and what was passed can be received again', async () => {
  await deadLettered('capped', ...numbered('m', 8));
  const source = serviceBusDeadLetters(bus.client, 'capped', { ...defaultPassLimits, mostReceived: 5 });
  expect(await Array.fromAsync(source.redrive(new Set(['m4', 'm6'])))).toEqual([
    { kind: 'moved', id: 'm4' },
    { kind: 'left', id: 'm6', why: expect.stringContaining('not among the first 5 messages') },
  ]);
  expect(await bus.stats('capped')).toMatchObject({ deadLettered: 7, active: 1 });
  expect(await redriven(source, 'm3')).toEqual(['m3']);
  // The first 50 are received together, and then no more.
  await deadLettered('capped', ...numbered('late', 50));
  const small = serviceBusDeadLetters(bus.client, 'capped', { ...defaultPassLimits, mostBytes: 1 });
  expect(await Array.fromAsync(small.redrive(new Set(['m7', 'late47'])))).toMatchObject([
    { kind: 'moved', id: 'm7' },
    { kind: 'left', id: 'late47' },
  ]);
});

test.concurrent('what another receiver has locked stays, with the reason', async () => {
  await deadLettered('elsewhere', 'a', 'b');
  const receiver = bus.client.createReceiver('elsewhere', { subQueueType: 'deadLetter' });
  const [locked] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 2_000 });
  const source = serviceBusDeadLetters(bus.client, 'elsewhere');
  expect(await Array.fromAsync(source.redrive(new Set(['a', 'b'])))).toEqual([
    { kind: 'moved', id: 'b' },
    { kind: 'left', id: 'a', why: 'another receiver has it locked: try again in a minute' },
  ]);
  if (locked !== undefined) await receiver.abandonMessage(locked);
  await receiver.close();
  expect(await redriven(source, 'a')).toEqual(['a']);
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
    for await (const { id } of serviceBusDeadLetters(bus.client, 'halfway').redrive(ids)) {
      sent.push(id);
      await bus.setFault({ kind: 'refuse', operation: 'send', queue: 'halfway' });
    }
  };
  await expect(pass()).rejects.toThrow();
  expect(sent).toEqual(['a']);
  expect(await bus.stats('halfway')).toMatchObject({ active: 1 });
});
