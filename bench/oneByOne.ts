import { randomUUID } from 'node:crypto';
import { shardOf } from '../src/invoice/shard.ts';
import type { AzureClients } from '../src/platform/azureClients.ts';
import { serviceBusQueues } from '../src/platform/azureNames.ts';
import type { Settings } from '../src/settings/settings.ts';
import { stripeProvider } from '../src/stripe/stripeProvider.ts';

/**
 * The baseline: what a careful engineer would write with the plain SDKs. It pays one invoice after another,
 * and each step is a separate request: read, claim, create outbox message, send, mark, read, start, charge,
 * settle. No batches, no concurrency. Resolves with the seconds it took.
 */
export async function oneByOne({
  clients,
  settings,
  prefix,
  count,
}: {
  clients: AzureClients;
  settings: Settings;
  prefix: string;
  count: number;
}): Promise<number> {
  const container = clients.containers.invoices;
  const sender = clients.sender(serviceBusQueues.paymentCommands);
  const provider = stripeProvider({
    secretKey: settings.stripe.secretKey,
    apiBase: settings.stripe.apiBase,
    timeoutMs: 30_000,
  });
  const started = performance.now();
  for (let index = 0; index < count; index++) {
    const id = `${prefix}-${index}`;
    const shard = shardOf(id, settings.shards);
    const item = container.item(id, shard);
    const batchId = randomUUID();
    const read = await item.read();
    await item.patch(
      [
        { op: 'set', path: '/status', value: 'claimed' },
        { op: 'set', path: '/claim', value: { batchId, by: 'one-by-one', phase: 'claimed' } },
        { op: 'remove', path: '/actionableAt' },
      ],
      { accessCondition: { type: 'IfMatch', condition: read.etag } },
    );
    const message = { id: batchId, shard, type: 'benchMessage', status: 'pending', body: { id } };
    await container.items.create(message);
    await sender.sendMessages({ messageId: batchId, body: { alien: id } });
    await container.item(batchId, shard).patch([{ op: 'set', path: '/status', value: 'dispatched' }]);
    const again = await item.read();
    await item.patch([{ op: 'set', path: '/claim/phase', value: 'calling' }], {
      accessCondition: { type: 'IfMatch', condition: again.etag },
    });
    const outcome = await provider.charge({
      invoiceId: id,
      amountMinor: 100 + index,
      currency: 'USD',
      customerId: 'cus-1',
      paymentMethod: 'pm_card_visa',
      idempotencyKey: `invoice-${id}-1`,
    });
    if (outcome.kind !== 'succeeded') throw new Error(`${id}: ${outcome.kind}`);
    await item.patch({
      condition: `from c where c.claim.batchId = '${batchId}'`,
      operations: [
        { op: 'set', path: '/status', value: 'paid' },
        { op: 'set', path: '/payment/id', value: outcome.paymentId },
      ],
    });
  }
  return (performance.now() - started) / 1000;
}
