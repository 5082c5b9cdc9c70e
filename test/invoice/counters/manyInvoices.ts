import type { InvoiceContent } from '../../../src/invoice/invoice.ts';
import { ifClaimedBy, ifUnchanged } from '../../../src/invoice/invoiceChange.ts';
import { shardNames } from '../../../src/invoice/shard.ts';
import type { InvoiceStore, SettledItem } from '../../../src/invoice/store/invoiceStore.ts';

/** Stores invoices by way of the store: half of them paid, some due now, the others due in days. */
export async function storeMany(
  invoices: InvoiceStore,
  count: number,
  { shards, now, prefix = 'inv' }: { shards: number; now: number; prefix?: string },
): Promise<void> {
  const at = (ms: number) => new Date(now + ms).toISOString();
  const dueIn = (n: number) =>
    n % 2 === 0 ? -7_200_000 : n % 4 === 1 ? -60_000 : 86_400_000 * (1 + (n % 20));
  const rows = Array.from({ length: count }, (_, n): InvoiceContent => ({
    id: `${prefix}-${n}`,
    customerId: `cus-${n % 50}`,
    amountMinor: 100 + n,
    currency: n % 3 === 0 ? 'EUR' : 'USD',
    dueAt: at(dueIn(n)),
    paymentMethod: 'pm_card_visa',
    description: `Website care, month ${n % 12}`,
  }));
  await invoices.add([rows], { by: 'test', withinMs: 600_000, settled() {} });
  for (const shard of shardNames(shards)) {
    let batch = 0;
    for await (const page of invoices.due({ shard, now: at(-3_600_000), pageSize: 50 })) {
      const batchId = `${prefix}-${shard}-${batch++}`;
      const by = { by: 'test', batchId };
      await invoices.claim({
        shard,
        batchId,
        invoices: page,
        fence: { lockKey: 'jobs/test/0', token: 1 },
        assertHeld() {},
        plan: (some) => ({
          messages: [],
          patches: some.map((invoice) =>
            ifUnchanged(invoice, {
              set: {
                status: 'claimed',
                claim: { batchId, by: 'test', runId: 'r', fence: 1, attempt: 1, at: at(0), phase: 'calling' },
                actionableAt: at(300_000),
                payment: { ...invoice.payment, keyCreatedAt: at(0) },
              },
              entry: { at: at(0), what: 'claimed', ...by },
            }),
          ),
        }),
      });
      await invoices.settle<SettledItem>({
        shard,
        batchId,
        settlementId: `${batchId}-s`,
        items: page.map(({ id: invoiceId, amountMinor, currency }) => ({ invoiceId, amountMinor, currency })),
        plan: (items) => ({
          messages: [],
          patches: items.map(({ invoiceId }) =>
            ifClaimedBy(batchId, invoiceId, {
              set: {
                status: 'paid',
                payment: {
                  keyNumber: 1,
                  declines: 0,
                  deferrals: 0,
                  keyCreatedAt: at(0),
                  id: `pi_${invoiceId}`,
                  paidAt: at(0),
                },
              },
              clear: ['claim', 'actionableAt'],
              entry: { at: at(0), what: 'paid', settlement: `${batchId}-s`, ...by },
            }),
          ),
        }),
      });
    }
  }
}
