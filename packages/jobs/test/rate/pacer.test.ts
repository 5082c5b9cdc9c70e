import { describe, expect, test } from 'vitest';
import { memoryPaceStore } from '../../../../test/memory/memoryPaceStore.ts';
import { anInstance } from '../../../../test/support/anInstance.ts';
import { isFull } from '../../../../test/support/onlyInFull.ts';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { StoreAway } from '../../src/documents/documentStore.ts';
import { createPacer } from '../../src/rate/pacer.ts';
import { type FleetOptions, startFleet } from './fleet.ts';

const base: FleetOptions = { seed: 1, allowance: 25, latencyMs: 300, instances: 3 };

async function steady(options: FleetOptions) {
  const fleet = startFleet(options);
  await fleet.run(10_000);
  const { paid, refused, calls, storeRequests } = await fleet.run(30_000);
  return {
    share: paid / 30 / options.allowance,
    refused: refused / calls,
    storeRequests: storeRequests / 30,
  };
}

const seed = 1;

describe.each([300, 1_000])('at %i ms', (latencyMs) => {
  test.each(
    [25, 100, 400]
      .flatMap((allowance) => [1, 3, 8, 20].map((instances) => ({ allowance, instances })))
      // Each call costs processor time.
      .filter(({ allowance, instances }) => isFull || allowance < 400 || instances === 3),
  )('$instances instances use all of $allowance a second, and nothing is refused', async (cell) => {
    const { share, refused, storeRequests } = await steady({ seed, latencyMs, ...cell });
    expect(share).toBeGreaterThanOrEqual(0.97);
    expect(refused).toBeLessThanOrEqual(0.01);
    expect(storeRequests).toBeLessThan(12);
  });
});

/** The share of the allowance in the 30 s after something happened. */
async function after(
  happens: (fleet: ReturnType<typeof startFleet>) => void,
  changes: Partial<FleetOptions> = {},
) {
  const options = { ...base, ...changes };
  const fleet = startFleet(options);
  await fleet.run(15_000);
  happens(fleet);
  const { paid, refused, calls } = await fleet.run(30_000);
  return { share: paid / 30 / options.allowance, refused: refused / calls, fleet };
}

test('an instance that dies leaves its share to the others', async () => {
  for (const instances of [2, 3]) {
    const { share } = await after((fleet) => fleet.kill(0), { instances });
    expect(share).toBeGreaterThanOrEqual(0.95);
  }
});

test('an instance that joins costs nothing', async () => {
  const { share } = await after((fleet) => fleet.join(), { instances: 1 });
  expect(share).toBeGreaterThanOrEqual(0.97);
});

test.each([200, 1_000, 5_000])('clocks that are %i ms off cost nothing', async (skewMs) => {
  const { share, refused } = await steady({ ...base, skewMs });
  expect(share).toBeGreaterThanOrEqual(0.97);
  expect(refused).toBeLessThanOrEqual(0.01);
});

test.each([100, 500])('a store that takes %i ms costs nothing', async (storeMs) => {
  expect((await steady({ ...base, allowance: 100, storeMs })).share).toBeGreaterThanOrEqual(0.97);
});

test('while the store is silent, each instance goes on at a little less than it had', async () => {
  const { share, refused, fleet } = await after((each) => each.setStore('down'), { allowance: 100 });
  expect(share).toBeGreaterThanOrEqual(0.8);
  expect(refused).toBeLessThanOrEqual(0.05);
  fleet.setStore('up');
  await fleet.run(15_000);
  expect((await fleet.run(30_000)).paid / 30).toBeGreaterThanOrEqual(97);
});

test.each([
  ['hangs', () => new Promise<never>(() => {})],
  ['fails at once', () => Promise.reject(new StoreAway('noAnswer', undefined))],
])('a process that had no share makes a call a second at most while the store %s', async (_, answer) => {
  const clock = virtualClock();
  const store = { read: answer, create: answer, change: answer };
  const pacer = createPacer({ store, instance: anInstance({ clock }) }, { limit: 'charges', ceiling: 25 });
  let made = 0;
  const call = async () => {
    const turn = await pacer.turn(clock.monotonic() + 60_000);
    if (turn === undefined) return;
    made++;
    turn.answered();
    await call();
  };
  for (let n = 0; n < 20; n++) void call();
  await clock.advance(30_000);
  expect(made).toBeGreaterThan(5);
  expect(made).toBeLessThanOrEqual(31);
});

test('a provider that takes less than the ceiling is followed: nearly all of it is used, and little is refused', async () => {
  const fleet = startFleet({ ...base, allowance: 15, ceiling: 25 });
  await fleet.run(30_000);
  const { paid, refused, calls } = await fleet.run(240_000);
  expect(paid / 240 / 15).toBeGreaterThanOrEqual(0.95);
  expect(refused / calls).toBeLessThanOrEqual(0.03);
});

test('when the provider takes less and then more again, the pace goes down within seconds and comes back', async () => {
  const { fleet } = await after((each) => each.setAllowance(12));
  const low = await fleet.run(60_000);
  expect(low.paid / 60).toBeGreaterThanOrEqual(12 * 0.95);
  expect(low.refused / low.calls).toBeLessThanOrEqual(0.05);
  fleet.setAllowance(25);
  await fleet.run(120_000);
  expect((await fleet.run(30_000)).paid / 30).toBeGreaterThanOrEqual(25 * 0.97);
});

test('the calls in flight follow the latency', async () => {
  const { fleet } = await after((each) => each.setLatency(1_500), { allowance: 100 });
  expect((await fleet.run(30_000)).paid / 30).toBeGreaterThanOrEqual(97);
});

test('a call that finds no slot left has one reserved at the next look', async () => {
  const clock = virtualClock();
  const store = memoryPaceStore(() => clock.sleep(8));
  const pacer = createPacer({ store, instance: anInstance({ clock }) }, { limit: 'charges', ceiling: 5_000 });
  const waits: number[] = [];
  const call = async () => {
    const asked = clock.monotonic();
    const turn = await pacer.turn(asked + 60_000);
    waits.push(clock.monotonic() - asked);
    turn?.answered();
  };
  void call();
  await clock.advance(50);
  void call();
  await clock.advance(150);
  expect(waits).toHaveLength(2);
  // A look every 50 ms, and the store's 8.
  expect(waits[1]).toBeLessThanOrEqual(60);
});
