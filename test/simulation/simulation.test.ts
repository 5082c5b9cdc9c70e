import { type ChildProcess, fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isFull } from '../support/onlyInFull.ts';
import { campaign } from './campaign.ts';
import { regressions } from './kept/regressions.ts';
import type { Order, Result } from './orders.ts';
import { answerOf, startWorker } from './schedules.ts';

vi.setConfig({ testTimeout: 300_000 });

/** Runs orders in a process of their own, one after the other. */
async function inOneProcess(orders: readonly Order[]): Promise<Result[]> {
  const child = startWorker();
  const results: Result[] = [];
  try {
    for (const order of orders) results.push(await answerOf(child, order));
  } finally {
    child.kill();
  }
  return results;
}

function order(from: number, count: number): Order {
  return { from, count, strict: false, onViolation: 'goOn' };
}

// Fixed seeds show that nothing is new; `.ci/run` adds a thousand that nobody has run before.
test('schedules violate nothing', async () => {
  const lines: string[] = [];
  const options = { from: 1, seeds: isFull ? 200 : 25, jobs: 2, strict: false, all: false };
  const held = await campaign(options, (line) => lines.push(line));
  expect(held, lines.join('\n')).toBe(true);
});

test('a seed has one history, whatever ran before it', async () => {
  const [first, second] = await inOneProcess([order(40, 4), order(42, 1)]);
  const [alone] = await inOneProcess([order(42, 1)]);
  const hash = first?.schedules.find(({ seed }) => seed === 42)?.hash;
  expect(hash).toMatch(/^[0-9a-f]{16}$/);
  expect([second, alone].map((one) => one?.schedules[0]?.hash)).toEqual([hash, hash]);
});

test('a seed has the same history in another time zone, language, memory and folder', async () => {
  const schedules = isFull ? 12 : 3;
  const environments = [
    { TZ: 'UTC', LANG: 'C' },
    {
      TZ: 'Pacific/Kiritimati',
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
      NODE_OPTIONS: '--max-old-space-size=300',
    },
  ];
  const folders = [process.cwd(), tmpdir()];
  const hashes = await Promise.all(
    environments.map(async (env, place) => {
      const child = startWorker({ env: { ...process.env, ...env }, cwd: folders[place] ?? '.' });
      const answer = await answerOf(child, order(1, schedules)).finally(() => child.kill());
      return answer.schedules.map(({ hash }) => hash);
    }),
  );
  expect(hashes[0]).toHaveLength(schedules);
  expect(hashes[1]).toEqual(hashes[0]);
});

describe('schedules that once failed', () => {
  let worker: ChildProcess;
  beforeAll(() => {
    worker = startWorker();
  });
  afterAll(() => worker.kill());

  test.each(regressions)('$name: $found', async ({ name }) => {
    const { schedules } = await answerOf(worker, { ...order(0, 1), kept: name });
    expect(schedules).toHaveLength(1);
    expect(schedules[0]?.violation).toBeUndefined();
  });
});

test('nothing of the machine is reached: time, timers, randomness, the network', async () => {
  const child = fork(fileURLToPath(new URL('reach.ts', import.meta.url)));
  const answer = await new Promise((resolve) => child.once('message', resolve));
  child.kill();
  expect(answer).toEqual({
    reached: [
      'setTimeout',
      'setInterval',
      'crypto.getRandomValues',
      'crypto.randomBytes',
      'crypto.randomInt',
      'process.hrtime',
    ],
    now: [4_000, 4_000],
    monotonic: 5_000,
    same: true,
  });
});
