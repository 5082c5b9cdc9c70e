import { expect, test } from 'vitest';
import { formatVersion } from '../../src/documents/storedDocuments.ts';
import { sendOnce } from '../../src/workItems/sendOnce.ts';

/** A queue that fails as told, and a clock that is moved by hand. */
function aQueue() {
  const sent: { message: unknown; delayMs: number }[] = [];
  const clock = { at: 0, frozenMs: 0, now: () => clock.at, monotonic: () => clock.at - clock.frozenMs };
  const queue = {
    sent,
    clock,
    fails: false,
    send: sendOnce(async (message, delayMs) => {
      sent.push({ message, delayMs });
      if (queue.fails) throw new Error('no answer');
    }, clock),
  };
  return queue;
}

test('a second copy is not sent while the first is not visible yet', async () => {
  const { send, sent, clock } = aQueue();
  await send({ a: 1 }, 30_000);
  clock.at = 28_999;
  await send({ a: 1 }, 30_000);
  expect(sent).toHaveLength(1);
  clock.at = 30_000;
  await send({ a: 1 }, 30_000);
  expect(sent).toHaveLength(2);
});

test('a queue that shows a message a second early loses nothing: what came is sent', async () => {
  const { send, sent, clock } = aQueue();
  await send({ a: 1 }, 30_000);
  clock.at = 29_000;
  await send({ a: 1 }, 30_000);
  expect(sent).toHaveLength(2);
});

test('another message is sent, and so is one without a delay', async () => {
  const { send, sent } = aQueue();
  await send({ a: 1 }, 30_000);
  await send({ a: 2 }, 30_000);
  await send({ a: 3 }, 0);
  await send({ a: 3 }, 0);
  expect(sent).toHaveLength(4);
});

const item = { resourceId: 'inv-1', stage: 'receipt', input: {} };
const after = (tries: number) => ({ ...item, retry: { tries, since: `2026-01-01T12:00:0${tries}.000Z` } });

test.each([
  ['a work item', item, after(1), after(2)],
  ['several work items', several(item, after(1)), several(after(2), item), several(item, item)],
])('copies of %s are the same work, whatever they tell of earlier tries', async (_, ...copies) => {
  const { send, sent } = aQueue();
  for (const copy of copies) await send(copy, 30_000);
  expect(sent).toHaveLength(1);
});

test('what a newer release says of its tries is not for this one to judge', async () => {
  const { send, sent } = aQueue();
  for (const copy of [after(1), after(2)]) await send({ ...copy, version: formatVersion + 1 }, 30_000);
  expect(sent).toHaveLength(2);
});

function several(...items: unknown[]) {
  return { items };
}

test('a process that was frozen sends it: what it has may be the only copy', async () => {
  const { send, sent, clock } = aQueue();
  await send({ a: 1 }, 30_000);
  clock.at = 120_000;
  clock.frozenMs = 119_000;
  await send({ a: 1 }, 30_000);
  expect(sent).toHaveLength(2);
});

test('a failure is passed on and forgotten: the copy is sent', async () => {
  const queue = aQueue();
  queue.fails = true;
  await expect(queue.send({ a: 1 }, 30_000)).rejects.toThrow('no answer');
  queue.fails = false;
  await queue.send({ a: 1 }, 30_000);
  expect(queue.sent).toHaveLength(2);
});

test.each(['fails', 'succeeds'])(
  'copies that are at hand together have one send, also if it %s',
  async (how) => {
    const answer = Promise.withResolvers<void>();
    let sends = 0;
    const send = sendOnce(
      async () => {
        sends++;
        await answer.promise;
      },
      { now: () => 0, monotonic: () => 0 },
    );
    const copies = Promise.allSettled(Array.from({ length: 20 }, () => send('text', 30_000)));
    if (how === 'fails') answer.reject(new Error('no answer'));
    else answer.resolve();
    const outcomes = new Set((await copies).map(({ status }) => status));
    expect([...outcomes]).toEqual([how === 'fails' ? 'rejected' : 'fulfilled']);
    expect(sends).toBe(1);
  },
);

test('also if they come together once the one that was sent may be visible', async () => {
  const { send, sent, clock } = aQueue();
  await send({ a: 1 }, 30_000);
  // Just before the process forgets what it has sent.
  clock.at = 29_500;
  await Promise.all(Array.from({ length: 20 }, () => send({ a: 1 }, 30_000)));
  expect(sent).toHaveLength(2);
});

test('copies do not multiply while half of the answers are lost', async () => {
  const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
  const waiting: { message: unknown; at: number }[] = [{ message: 'newer', at: 0 }];
  let sends = 0;
  const send = sendOnce(async (message, delayMs) => {
    waiting.push({ message, at: clock.at + delayMs });
    if (sends++ % 2 === 1) throw new Error('the answer is lost');
  }, clock);
  for (let delivery = 0; delivery < 5_000; delivery++) {
    waiting.sort((one, other) => one.at - other.at);
    const next = waiting.shift();
    if (next === undefined) break;
    clock.at = Math.max(clock.at, next.at);
    // A delivery that fails comes again after ten seconds.
    await send(next.message, 30_000).catch(() => waiting.push({ ...next, at: clock.at + 10_000 }));
  }
  expect(waiting.length).toBeGreaterThan(0);
  expect(waiting.length).toBeLessThan(10);
});

test('after five failures within a delay, copies are left to their next deliveries', async () => {
  const { send, sent, clock, ...queue } = failing(aQueue());
  for (let n = 0; n < 8; n++) {
    clock.at = n * 1_000;
    await expect(send({ a: 1 }, 30_000)).rejects.toThrow(n < 5 ? 'no answer' : 'has not confirmed 5 copies');
  }
  expect(sent).toHaveLength(5);
  await expect(send({ a: 2 }, 30_000)).rejects.toThrow('no answer');
  clock.at = 30_000;
  queue.works();
  await send({ a: 1 }, 30_000);
  expect(sent).toHaveLength(7);
});

test.each([
  ['as long as the delay', 60_000, 60_000],
  ['half a minute long if there is no delay', 0, 30_000],
])(
  'the first such time is %s, and each further one twice as long, up to five minutes',
  async (_, delayMs, first) => {
    const { send, sent, clock } = failing(aQueue());
    const failuresAt: number[] = [];
    for (; clock.at < 1_500_000; clock.at += 5_000) {
      const before = sent.length;
      await expect(send('text', delayMs)).rejects.toThrow();
      if (sent.length > before) failuresAt.push(clock.at);
    }
    const begins = failuresAt.filter((_at, n) => n % 5 === 0);
    expect(begins.map((at, n) => (begins[n + 1] ?? Number.NaN) - at).slice(0, 5)).toEqual(
      [1, 2, 4, 8, 16].map((times) => Math.min(times * first, 300_000)),
    );
  },
);

test('one that succeeds begins anew', async () => {
  const queue = aQueue();
  const { sent, clock } = queue;
  for (const fails of [true, false, true]) {
    clock.at += 60_000;
    for (let n = 0; n < 6; n++) {
      queue.fails = fails;
      await queue.send('text', 30_000).catch(() => {});
    }
  }
  expect(sent).toHaveLength(5 + 1 + 5);
});

function failing(queue: ReturnType<typeof aQueue>) {
  queue.fails = true;
  return {
    ...queue,
    works() {
      queue.fails = false;
    },
  };
}
