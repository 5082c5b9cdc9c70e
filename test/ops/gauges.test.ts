import { afterAll, beforeAll, expect, test } from 'vitest';
import { newInvoice } from '../../src/invoice/invoice.ts';
import { watchParked } from '../../src/invoice/watchParked.ts';
import { newOutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { metric } from '../../src/platform/telemetry.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

async function parked(): Promise<number | undefined> {
  const telemetry = recordedTelemetry();
  await watchParked({ container: cosmos.containers.invoices, telemetry });
  return telemetry.values(metric.parkedWaiting).at(-1);
}

test('counts what is parked in all shards, invoices and messages, for as long as it is', async () => {
  const { items } = cosmos.containers.invoices;
  expect(await parked()).toBe(0);
  const content = { customerId: 'cus_1', amountMinor: 1, currency: 'USD', paymentMethod: 'pm_1' };
  const at = '2026-01-01T00:00:00.000Z';
  for (const [shard, status] of [
    ['00', 'parked'],
    ['01', 'parked'],
    ['01', 'pending'],
  ] as const) {
    const invoice = newInvoice(
      { ...content, id: `${shard}-${status}`, dueAt: at },
      { shard, at, by: 'test' },
    );
    await items.create({ ...invoice, status });
  }
  expect(await parked()).toBe(2);
  const message = newOutboxMessage({ id: 'm', shard: '02', destination: 'work-items', body: [] }, 0);
  await items.create({ ...message, status: 'parked' });
  expect(await parked()).toBe(3);
  await cosmos.containers.invoices
    .item('00-parked', '00')
    .patch([{ op: 'set', path: '/status', value: 'paid' }]);
  expect(await parked()).toBe(2);
});
