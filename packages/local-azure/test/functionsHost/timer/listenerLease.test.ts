import { randomUUID } from 'node:crypto';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { beforeAll, expect, inject, test } from 'vitest';
import { virtualClock } from '../../../../../test/support/virtualClock.ts';
import { blobListenerLease } from '../../../src/functionsHost/timer/listenerLease.ts';

const period = 15_000;
let container: ContainerClient;
beforeAll(async () => {
  container = BlobServiceClient.fromConnectionString(inject('azurite')).getContainerClient(
    `hosts-${randomUUID()}`,
  );
  await container.create();
});

/** Two hosts that compete for the same lease, on one clock. */
function twoHosts(name: string) {
  const clock = virtualClock();
  const lease = () => blobListenerLease(container, 'app', name, period, clock);
  return { clock, a: lease(), b: lease() };
}

test('only one host holds it; once released, it is free at once', async () => {
  const { a, b } = twoHosts('released');
  expect(await a.tryAcquire()).toBe(true);
  expect(await b.tryAcquire()).toBe(false);
  await a.release();
  expect(await b.tryAcquire()).toBe(true);
});

test('keeps renewing until the signal aborts', async () => {
  const { clock, a, b } = twoHosts('kept');
  await a.tryAcquire();
  const stopping = new AbortController();
  const kept = a.keep(stopping.signal);
  await clock.advance(period / 2);
  // The renewal has its answer once the next pause begins.
  await expect.poll(() => clock.sleepers()).toBe(1);
  expect(await b.tryAcquire()).toBe(false);
  stopping.abort();
  await expect(kept).rejects.toThrow();
});

test('stops renewing once the lease was broken and another host took it', async () => {
  const { clock, a, b } = twoHosts('broken');
  await a.tryAcquire();
  const kept = a.keep(new AbortController().signal);
  await container
    .getBlobClient('locks/app/Host.Functions.broken.Listener')
    .getBlobLeaseClient()
    .breakLease(0);
  expect(await b.tryAcquire()).toBe(true);
  await clock.advance(period / 2);
  await kept;
});
