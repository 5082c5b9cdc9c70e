import { afterAll, beforeAll, expect, test } from 'vitest';
import { watchUnknown } from '../../src/invoice/watchUnknown.ts';
import { executeBatch } from '../../src/paying/payBatch.ts';
import { metric } from '../../src/platform/telemetry.ts';
import { hastyClock, type PayingWorld, payingWorld } from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

let world: PayingWorld;
beforeAll(async () => {
  world = await payingWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** How long the oldest payment has been unknown, as it is reported `later` milliseconds from now. */
async function oldestUnknown(later = 0): Promise<number | undefined> {
  const telemetry = recordedTelemetry();
  const clock = { ...hastyClock, now: () => Date.now() + later };
  await watchUnknown({ container: world.container, clock, telemetry });
  return telemetry.values(metric.paymentUnknownOldestMs).at(-1);
}

test('0 where nothing is unknown; grows from the first unknown answer on, until it is known', async () => {
  expect(await oldestUnknown()).toBe(0);
  const declined = await world.claimedBatch(1, { paymentMethod: 'pm_card_chargeDeclinedLostCard' });
  await executeBatch(world.consumer().dependencies, declined.batch);
  expect(await oldestUnknown()).toBe(0);

  const { batch, shard, ids } = await world.claimedBatch(1, {
    paymentMethod: 'pm_local_resetAfterChargeOnce',
  });
  const before = Date.now();
  await executeBatch(world.consumer().dependencies, batch);
  const since = Date.parse((await world.stored(shard, ids))[0]?.payment.unknownSince ?? '');
  expect(since).toBeGreaterThanOrEqual(before);
  expect(await oldestUnknown(3_600_000)).toBeGreaterThanOrEqual(3_600_000);

  await world.makeDue(shard, ids);
  const { message } = await world.claimDue(shard);
  await executeBatch(world.consumer().dependencies, message?.body as typeof batch);
  expect((await world.stored(shard, ids))[0]).toMatchObject({ status: 'paid' });
  expect(await oldestUnknown(3_600_000)).toBe(0);
});
