import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { noJournal } from '../../../src/serviceBus/broker/journal.ts';
import type { IncomingMessage } from '../../../src/serviceBus/broker/message.ts';
import { Queue } from '../../../src/serviceBus/broker/queue.ts';
import { deadLetterRules, type QueueRules } from '../../../src/serviceBus/broker/rules.ts';

const rules: QueueRules = {
  lockMs: 60,
  maxDeliveryCount: 4,
  timeToLiveMs: 1000,
  deadLetterOnExpiry: true,
  requiresSession: false,
  duplicateWindowMs: undefined,
};

function queueWith(changes: Partial<QueueRules> = {}): Queue {
  const all = { ...rules, ...changes };
  const dead = new Queue('q/dead', deadLetterRules(all), noJournal);
  return new Queue('q', all, noJournal, dead);
}

function incoming(messageId: string, changes: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    messageId,
    sessionId: undefined,
    durable: false,
    priority: 4,
    timeToLive: undefined,
    scheduledFor: undefined,
    annotations: Buffer.alloc(0),
    annotationCount: 0,
    bare: Buffer.alloc(0),
    ...changes,
  };
}

test('reports each new earliest due time', () => {
  const queue = queueWith();
  const due: number[] = [];
  queue.onDue = (at) => due.push(at);
  queue.enqueue(incoming('a'), 0);
  queue.enqueue(incoming('b', { timeToLive: 500 }), 0);
  queue.lockNext(0);
  expect(due).toEqual([1000, 500, 60]);
});

test('many locks and abandons leave a working heap of due times', () => {
  const queue = queueWith({ maxDeliveryCount: 1e9 });
  queue.enqueue(incoming('a', { timeToLive: 1000 }), 0);
  for (let n = 0; n < 20_000; n++) {
    const delivery = queue.lockNext(0);
    queue.settle(delivery?.token ?? '', { kind: 'abandon' }, 0);
  }
  queue.advance(1000);
  expect(queue.counts).toEqual({ ready: 0, locked: 0, scheduled: 0, deferred: 0 });
  expect(queue.deadLetters?.counts.ready).toBe(1);
});

test('deleteReady deletes only ready messages, up to a time and a count', () => {
  const queue = queueWith();
  for (const [at, id] of ['a', 'b', 'c', 'd'].entries()) queue.enqueue(incoming(id), at);
  queue.lockNext(3);
  expect(queue.deleteReady(1, 2, 3)).toBe(1);
  expect(queue.deleteReady(10, 2, 3)).toBe(1);
  expect(queue.peek(0, 10, undefined, 3).map(({ message }) => message.messageId)).toEqual(['a', 'd']);
});

test('a session lock covers the messages received under it', () => {
  const queue = queueWith({ requiresSession: true });
  queue.enqueue(incoming('a', { sessionId: 's' }), 0);
  expect(queue.sessionLocks.accept('s', 'me', 0)).toMatchObject({ outcome: 'accepted', until: 60 });
  const delivery = queue.lockNext(10, 's');
  expect(delivery?.lockedUntil).toBe(60);
  expect(queue.sessionLocks.renew('s', 50)).toBe(110);
  expect(queue.renew(delivery?.token ?? '', 100)).toBe(110);
  expect(queue.settle(delivery?.token ?? '', { kind: 'complete' }, 109)).toBe(true);
});

/** A step of a client, or time that passes. `pick` selects one of the known locks or messages. */
type Step =
  | { do: 'send'; timeToLive: number | undefined; scheduledIn: number | undefined }
  | { do: 'lock' | 'take' | 'expireLocks' }
  | { do: 'wait'; ms: number }
  | { do: 'settle'; pick: number; how: 'complete' | 'abandon' | 'defer' | 'deadLetter' }
  | { do: 'renew' | 'lockDeferred' | 'cancel'; pick: number };

const pick = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('send' as const),
    timeToLive: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
    scheduledIn: fc.option(fc.integer({ min: 0, max: 100 }), { nil: undefined }),
  }),
  fc.record({ do: fc.constantFrom('lock' as const, 'take' as const, 'expireLocks' as const) }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 80 }) }),
  fc.record({
    do: fc.constant('settle' as const),
    pick,
    how: fc.constantFrom('complete' as const, 'abandon' as const, 'defer' as const, 'deadLetter' as const),
  }),
  fc.record({ do: fc.constantFrom('renew' as const, 'lockDeferred' as const, 'cancel' as const), pick }),
);

describe('any sequence of client calls', () => {
  /** Plays the steps, checks each result, and returns what an observer knows at the end. */
  function play(queue: Queue, steps: Step[]) {
    let now = 0;
    const sent = new Set<string>();
    const removed = new Set<string>();
    /** Every lock ever granted: token → message and expiry. */
    const locks = new Map<string, { id: string; until: number }>();
    const liveLocks = () => [...locks].filter(([, { until }]) => until > now);
    const numbers = () => queue.peek(0, 1000, undefined, now).map(({ message }) => message);
    const note = (delivery: ReturnType<Queue['lockNext']>) => {
      if (delivery === undefined) return;
      const { messageId } = delivery.message;
      const rivals = liveLocks().filter(([, { id }]) => id === messageId);
      expect(rivals, `two live locks on ${messageId}`).toEqual([]);
      locks.set(delivery.token, { id: messageId, until: delivery.lockedUntil });
    };
    for (const [index, each] of steps.entries()) {
      const [token, lock] = [...locks][('pick' in each ? each.pick : 0) % Math.max(1, locks.size)] ?? [];
      const target = numbers()[('pick' in each ? each.pick : 0) % Math.max(1, numbers().length)];
      switch (each.do) {
        case 'send': {
          const scheduledFor = each.scheduledIn === undefined ? undefined : now + each.scheduledIn;
          queue.enqueue(incoming(`m${index}`, { timeToLive: each.timeToLive, scheduledFor }), now);
          sent.add(`m${index}`);
          break;
        }
        case 'lock':
          note(queue.lockNext(now));
          break;
        case 'take': {
          const taken = queue.takeNext(now);
          if (taken === undefined) break;
          expect(liveLocks().filter(([, { id }]) => id === taken.messageId)).toEqual([]);
          removed.add(taken.messageId);
          break;
        }
        case 'wait':
          now += each.ms;
          break;
        case 'expireLocks':
          queue.expireLocks(now);
          for (const known of locks.values()) known.until = Math.min(known.until, now);
          break;
        case 'settle': {
          if (token === undefined || lock === undefined) break;
          const settlement =
            each.how === 'deadLetter'
              ? { kind: each.how, cause: { reason: undefined, description: undefined } }
              : { kind: each.how };
          const done = queue.settle(token, settlement, now);
          expect(done, 'only the holder of a live lock settles').toBe(lock.until > now);
          if (done) lock.until = -1;
          if (done && each.how === 'complete') removed.add(lock.id);
          break;
        }
        case 'renew': {
          const until = token === undefined ? undefined : queue.renew(token, now);
          expect(until !== undefined).toBe(lock !== undefined && lock.until > now);
          if (lock !== undefined && until !== undefined) lock.until = until;
          break;
        }
        case 'lockDeferred':
          if (target !== undefined) note(queue.lockDeferred(target.sequenceNumber, now));
          break;
        case 'cancel':
          if (target !== undefined && queue.cancelScheduled(target.sequenceNumber, now))
            removed.add(target.messageId);
          break;
      }
    }
    return { now, sent, removed };
  }

  test('loses no message, duplicates none, and never locks one twice at once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = queueWith();
        const { now, sent, removed } = play(queue, steps);
        const left = queue.peek(0, 1000, undefined, now).map(({ message }) => message.messageId);
        const dead =
          queue.deadLetters?.peek(0, 1000, undefined, now).map(({ message }) => message.messageId) ?? [];
        const found = [...left, ...dead, ...removed];
        expect([...found].sort()).toEqual([...sent].sort());
        const counts = Object.values(queue.counts);
        expect(counts.every((count) => count >= 0)).toBe(true);
        expect(counts.reduce((sum, count) => sum + count)).toBe(left.length);
      }),
      { numRuns: 500 },
    );
  });

  test('delivers the remaining messages in order of sequence number', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const queue = queueWith({ maxDeliveryCount: Infinity });
        const { now } = play(queue, steps);
        const numbers: number[] = [];
        for (let next = queue.takeNext(now); next !== undefined; next = queue.takeNext(now)) {
          numbers.push(next.sequenceNumber);
        }
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        expect(queue.counts.ready).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
