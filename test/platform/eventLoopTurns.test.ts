import { expect, test } from 'vitest';
import { eventLoopTurns } from '../../src/platform/eventLoopTurns.ts';

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('who asks has a turn, one after the other, in the order in which they asked', async () => {
  const turns = eventLoopTurns();
  const order: string[] = [];
  const worker = async (name: string) => {
    for (let n = 0; n < 3; n++) {
      await turns.next();
      order.push(name);
    }
  };
  await Promise.all(['a', 'b', 'c'].map(worker));
  expect(order.join('')).toBe('abcabcabc');
});

test('timers fire between two turns, and busy others get several rounds', async () => {
  const turns = eventLoopTurns();
  let rounds = 0;
  let done = false;
  const other = () => {
    if (done) return;
    rounds++;
    block(3);
    setImmediate(other);
  };
  await turns.next();
  setImmediate(other);
  await turns.next();
  done = true;
  expect(rounds).toBeGreaterThanOrEqual(5);
});
