import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import { expect, test } from 'vitest';
import { renewLock } from '../../../src/functionsHost/serviceBus/lockRenewal.ts';

const lockMs = 20;

/** A message whose lock expires in 20 ms, and a receiver that renews it for as long each time. */
function locked() {
  const message = { lockedUntilUtc: new Date(Date.now() + lockMs) } as ServiceBusReceivedMessage;
  const renewals: number[] = [];
  const receiver = {
    async renewMessageLock() {
      renewals.push(Date.now());
      return new Date(Date.now() + lockMs);
    },
  };
  return { message, renewals, receiver };
}

test('keeps renewing the lock before it expires, until disposed', async () => {
  const { message, renewals, receiver } = locked();
  const renewal = renewLock(receiver, message, 60_000);
  await expect.poll(() => renewals.length).toBeGreaterThanOrEqual(3);
  renewal[Symbol.dispose]();
  const before = renewals.length;
  await delay(3 * lockMs);
  expect(renewals.length).toBe(before);
});

test('stops renewing after the maximum duration', async () => {
  const { message, renewals, receiver } = locked();
  using _renewal = renewLock(receiver, message, lockMs / 2);
  await delay(3 * lockMs);
  expect(renewals).toEqual([]);
});

test('stops renewing a lost lock', async () => {
  const { message } = locked();
  let tries = 0;
  const receiver = {
    async renewMessageLock(): Promise<Date> {
      tries++;
      throw new Error('lost');
    },
  };
  using _renewal = renewLock(receiver, message, 60_000);
  await expect.poll(() => tries).toBe(1);
  await delay(3 * lockMs);
  expect(tries).toBe(1);
});
