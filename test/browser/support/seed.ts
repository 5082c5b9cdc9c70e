import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceBusClient } from '@azure/service-bus';
import { blobLockStore } from '../../../packages/leases/src/blobLockStore.ts';
import { createLocks, jobLockKey } from '../../../packages/leases/src/index.ts';
import { blobContainers, queues, serviceBusQueues } from '../../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../../src/platform/cosmosContainers.ts';
import type { DashboardStack } from './dashboardStack.ts';
import { failedRun, paidBefore } from './history.ts';

/** HTML that no field may turn into anything but text. */
export const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;

const due = (hoursAgo: number) => new Date(Date.now() - hoursAgo * 3_600_000).toISOString();

/** Invoices with every end that the local provider knows. */
function invoices(withHostile: boolean) {
  const of = (id: string, paymentMethod: string, rest: Record<string, unknown> = {}) => ({
    id,
    customerId: 'cus_AtelierMoreau',
    amountMinor: 125_000,
    currency: 'EUR',
    dueAt: due(26),
    paymentMethod,
    description: 'Website care, November',
    ...rest,
  });
  const dental = { customerId: 'cus_HarborStreetDental', currency: 'USD', amountMinor: 25_502 };
  const rio = { customerId: 'cus_RioVerdeCoffee', currency: 'BRL', amountMinor: 31_084 };
  const tokyo = { customerId: 'cus_KitanoBooks', currency: 'JPY', amountMinor: 48_000 };
  return [
    of('INV-2026-0042', 'pm_card_misspelt', { ...rio, description: 'Domain renewal, 11/2026' }),
    of('INV-2026-0043', 'pm_card_misspelt', { ...dental, dueAt: due(74) }),
    of('INV-2026-0044', 'pm_card_misspelt'),
    of('INV-2026-0045', 'pm_card_chargeDeclinedExpiredCard', dental),
    of('INV-2026-0046', 'pm_card_chargeDeclinedLostCard', tokyo),
    of('INV-2026-0047', 'pm_card_chargeDeclinedStolenCard'),
    of('INV-2026-0048', 'pm_card_chargeDeclinedInsufficientFunds', rio),
    of('INV-2026-0049', 'pm_card_local_processing', { amountMinor: 480_000 }),
    of('INV-2026-0050', 'pm_card_visa', dental),
    of('INV-2026-0051', 'pm_card_visa', tokyo),
    of('INV-2026-0052', 'pm_card_createDisputeProductNotReceived', { ...rio, amountMinor: 42_000 }),
    of('INV-2026-0053', 'pm_card_visa', { dueAt: due(-240) }),
    of('INV-2026-0054', 'pm_card_visa', { ...tokyo, dueAt: due(-48) }),
    ...(withHostile
      ? [of('INV-HOSTILE', 'pm_card_misspelt', { customerId: hostile, description: hostile })]
      : []),
  ];
}

/** Fills a stack with what a working day leaves behind, and waits until the app has dealt with it. */
export async function seed(
  stack: DashboardStack,
  { history = true, hostile: withHostile = true } = {},
): Promise<void> {
  const database = stack.cloud.cosmosClient.database(databaseName);
  const stored = database.container(containers.invoices.name);
  const now = Date.now();
  if (history) for (const { _etag, ...invoice } of paidBefore(now)) await stored.items.create(invoice);
  await database.container(containers.runs.name).items.create({ ...failedRun(now), version: 1 });
  await parkMessages(stack, ['b7f1c0d2-receipts']);
  const imported = await stack.ops('invoices', { method: 'POST', body: invoices(withHostile) });
  if (!imported.ok) throw new Error(`importing: ${imported.status} ${await imported.text()}`);
  await giveUpMessages(stack);
  const run = { job: 'process-invoices' };
  await stack.ops('runs', { method: 'POST', body: run, key: 'first run' });
  await untilStatus(stack, 'INV-2026-0042', 'parked');
  await untilStatus(stack, 'INV-2026-0045', 'declined');
  await untilStatus(stack, 'INV-2026-0050', 'paid');
  await untilStatus(stack, 'INV-2026-0052', 'paid');
  await untilDisputed(stack, 'INV-2026-0052');
  if (withHostile) await untilStatus(stack, 'INV-HOSTILE', 'parked');
}

/** Messages of the outbox that their queue has refused. */
export async function parkMessages({ cloud }: DashboardStack, ids: readonly string[]): Promise<void> {
  const stored = cloud.cosmosClient.database(databaseName).container(containers.invoices.name);
  for (const id of ids) {
    await stored.items.create({
      id,
      shard: '03',
      type: 'outboxMessage',
      version: 1,
      status: 'parked',
      createdAt: due(3),
      attempts: 10,
      lastError: '413 RequestBodyTooLarge: The request body is too large.',
      destination: queues.workItems,
      body: {},
    });
  }
}

/** A message that nobody understands on each queue, as a wrong tool would leave it. */
async function giveUpMessages({ cloud }: DashboardStack): Promise<void> {
  await using client = {
    bus: new ServiceBusClient(cloud.serviceBus),
    [Symbol.asyncDispose]: () => client.bus.close(),
  };
  const sender = client.bus.createSender(serviceBusQueues.paymentCommands);
  await sender.sendMessages({ body: { commands: hostile }, messageId: 'a1c4-from-a-test-tool' });
  const item = JSON.stringify({ resourceId: 'INV-2026-0031', stage: 'no-such-stage', input: {} });
  await cloud.queues.getQueueClient(queues.workItemsPoison).sendMessage(Buffer.from(item).toString('base64'));
}

/** Waits until an invoice has a status. @throws after a minute */
export async function untilStatus(stack: DashboardStack, id: string, wanted: string): Promise<void> {
  let status = '';
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(250)) {
    const answer = await stack.ops(`invoices/${id}`);
    ({ status } = (await answer.json()) as { status: string });
    if (status === wanted) return;
  }
  throw new Error(`${id} is ${status} after a minute: expected ${wanted}`);
}

/** Waits until the list of the provider's events has told of a dispute. @throws after a minute */
async function untilDisputed(stack: DashboardStack, id: string): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(500)) {
    const { reversals } = (await (await stack.ops(`invoices/${id}`)).json()) as { reversals: unknown };
    if (reversals !== null) return;
  }
  throw new Error(`nobody has told of the dispute of ${id} after a minute`);
}

/** Another process that holds the lease of a job, or of a group of it, until it is disposed of. */
export async function heldLease(
  { cloud }: DashboardStack,
  job = 'close-books',
  group?: string,
): Promise<AsyncDisposable> {
  // The longest that blobs grant: the browser may leave this process little time to renew it.
  const locks = createLocks(blobLockStore(cloud.blobs.getContainerClient(blobContainers.locks)), {
    leaseSeconds: 60,
  });
  const lease = await locks.tryAcquire(jobLockKey(job, group), { instance: 'host-3', job });
  if (lease === null) throw new Error(`the lease of ${job} is taken`);
  return lease;
}
