/** The figures are those of the invoices, whatever happens at once and whichever answers are lost. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leapingClock } from '../../../packages/leases/src/testing/leapingClock.ts';
import type { Invoice, InvoiceContent } from '../../../src/invoice/invoice.ts';
import { type InvoiceChange, ifClaimedBy, ifUnchanged } from '../../../src/invoice/invoiceChange.ts';
import { reversalsOf } from '../../../src/invoice/reversals.ts';
import { shardOf } from '../../../src/invoice/shard.ts';
import type { SettledItem } from '../../../src/invoice/store/invoiceStore.ts';
import { memoryCounterReads } from '../../memory/memoryCounterReads.ts';
import { memoryDocuments, type TransactionFault } from '../../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../../memory/memoryInvoiceStore.ts';
import { isFull } from '../../support/onlyInFull.ts';
import { expectExact } from './countersWorld.ts';

const shards = 2;
const hour = 3_600_000;

type Step =
  | { kind: 'import'; from: number; count: number; dueIn: number }
  | { kind: 'claim'; shard: number }
  | { kind: 'settle'; batch: number; outcome: 'paid' | 'declined' | 'parked' | 'pending' | 'processing' }
  | { kind: 'retry'; invoice: number; later: number }
  | { kind: 'bulk'; shard: number }
  | { kind: 'refund'; invoice: number; amount: number; failed: boolean }
  | { kind: 'dispute'; invoice: number; status: 'open' | 'won' | 'lost' }
  | { kind: 'tend' };

const small = fc.nat({ max: 11 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('import' as const),
    from: small,
    count: fc.integer({ min: 1, max: 5 }),
    dueIn: fc.constantFrom(-hour, 0, 60_000, hour),
  }),
  fc.record({ kind: fc.constant('claim' as const), shard: fc.nat({ max: shards - 1 }) }),
  fc.record({
    kind: fc.constant('settle' as const),
    batch: fc.nat({ max: 3 }),
    outcome: fc.constantFrom('paid', 'declined', 'parked', 'pending', 'processing'),
  }),
  fc.record({
    kind: fc.constant('retry' as const),
    invoice: small,
    later: fc.constantFrom(0, 60_000, 24 * hour),
  }),
  fc.record({ kind: fc.constant('bulk' as const), shard: fc.nat({ max: shards - 1 }) }),
  fc.record({
    kind: fc.constant('refund' as const),
    invoice: small,
    amount: fc.integer({ min: 1, max: 99 }),
    failed: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('dispute' as const),
    invoice: small,
    status: fc.constantFrom('open', 'won', 'lost'),
  }),
  fc.record({ kind: fc.constant('tend' as const) }),
);

/** Several at once, and then some time. */
const rounds = fc.array(
  fc.record({
    steps: fc.array(steps, { minLength: 1, maxLength: 4 }),
    passes: fc.constantFrom(0, 1_000, 300_000, 26 * hour),
  }),
  { minLength: 1, maxLength: 12 },
);
const faults = fc.array(
  fc.constantFrom<TransactionFault | undefined>(undefined, undefined, undefined, 'before', 'after', 'echo'),
  { maxLength: 40 },
);

test('after anything, in any order, with any answers lost', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(rounds, faults, async (all, lost) => {
      const waiting = [...lost];
      const documents = memoryDocuments({ fault: () => waiting.shift() });
      const clock = leapingClock();
      const invoices = memoryInvoiceStore(documents, { clock, shards });
      const other = memoryInvoiceStore(documents, { clock, shards });
      const batches: { batchId: string; shard: string; invoices: readonly Invoice[] }[] = [];
      let writes = 0;
      for (const { steps, passes } of all) {
        await Promise.all(steps.map((step, place) => run(step, place % 2 === 0 ? invoices : other)));
        await clock.sleep(passes);
      }
      waiting.length = 0;
      await invoices.moveHorizons();
      await expectExact(invoices, memoryCounterReads(documents), {
        shards,
        now: new Date(clock.now()).toISOString(),
      });

      async function run(step: Step, store: typeof invoices): Promise<void> {
        try {
          await take(step, store);
        } catch (error) {
          // The store gave no clear answer in all its tries: what it did is counted, whatever that was.
          expect((error as Error).name).toMatch(/NoClearAnswer|StoreAway|FencedOut/);
        }
      }

      async function take(step: Step, store: typeof invoices): Promise<void> {
        const now = clock.now();
        const at = new Date(now).toISOString();
        const write = `w${++writes}`;
        switch (step.kind) {
          case 'import': {
            const rows = Array.from({ length: step.count }, (_, n) =>
              contentOf(step.from + n, new Date(now + step.dueIn).toISOString()),
            );
            await store.add([rows], { by: 'test', withinMs: 600_000, settled() {} });
            return;
          }
          case 'claim': {
            const shard = `0${step.shard}`;
            const [due = []] = await Array.fromAsync(store.due({ shard, now: at, pageSize: 5 }));
            const { written } = await store.claim({
              shard,
              batchId: write,
              invoices: due,
              fence: { lockKey: `jobs/${shard}`, token: 1 },
              assertHeld() {},
              plan: (some, time) => ({
                messages: [],
                patches: some.map((invoice) => ifUnchanged(invoice, claimed(write, time))),
              }),
            });
            if (written !== undefined) batches.push({ batchId: write, shard, invoices: due });
            return;
          }
          case 'settle': {
            const batch = batches.splice(step.batch % Math.max(1, batches.length), 1)[0];
            if (batch === undefined) return;
            const { batchId, shard } = batch;
            await store.settle<SettledItem>({
              shard,
              batchId,
              settlementId: write,
              items: batch.invoices.map(({ id: invoiceId, amountMinor, currency }) => ({
                invoiceId,
                amountMinor,
                currency,
              })),
              plan: (items) => ({
                messages: [],
                patches: items.map(({ invoiceId }) =>
                  ifClaimedBy(batchId, invoiceId, settled(step.outcome, at, write)),
                ),
              }),
            });
            return;
          }
          case 'retry':
            await change(store, step.invoice, (invoice) =>
              ['declined', 'parked', 'pending'].includes(invoice.status)
                ? {
                    set: { status: 'pending', actionableAt: new Date(now + step.later).toISOString() },
                    clear: ['declinedAt', 'reason'],
                  }
                : undefined,
            );
            return;
          case 'bulk': {
            const shard = `0${step.shard}`;
            const ids = Array.from({ length: 16 }, (_, n) => `inv-${n}`).filter(
              (id) => shardOf(id, shards) === shard,
            );
            await store.change({
              shard,
              ids,
              decide: (invoice) =>
                invoice.status === 'declined' || invoice.status === 'parked'
                  ? {
                      kind: 'change',
                      change: {
                        set: { status: 'voided' },
                        clear: ['declinedAt'],
                        entry: { at, what: 'voided', by: 'test' },
                      },
                    }
                  : { kind: 'refuse', why: 'no' },
            });
            return;
          }
          case 'refund':
          case 'dispute':
            await change(store, step.invoice, ({ status, reversals }) => {
              if (status !== 'paid') return undefined;
              const refund = { id: write, amountMinor: 0, at };
              const refunds = reversals?.refunds ?? [];
              const disputes = reversals?.disputes ?? [];
              return {
                set: {
                  reversals:
                    step.kind === 'refund'
                      ? reversalsOf(
                          step.failed && refunds.length > 0
                            ? refunds.map((one) => ({ ...one, status: 'failed' as const }))
                            : [...refunds, { ...refund, amountMinor: step.amount, status: 'pending' }],
                          disputes,
                        )
                      : reversalsOf(refunds, [
                          {
                            id: 'dp',
                            amountMinor: 7,
                            at: disputes[0]?.at ?? at,
                            status: step.status,
                            reason: 'x',
                          },
                        ]),
                },
              };
            });
            return;
          case 'tend':
            await store.moveHorizons();
        }
      }

      async function change(
        store: typeof invoices,
        n: number,
        decide: (invoice: Invoice) => Omit<InvoiceChange, 'entry'> | undefined,
      ): Promise<void> {
        await store.update(`inv-${n}`, {
          decide(invoice) {
            const change = decide(invoice);
            if (change === undefined) return { kind: 'refuse', why: 'no' };
            const at = new Date(clock.now()).toISOString();
            return {
              kind: 'change',
              change: { ...change, entry: { at, what: 'changed', by: 'test' } },
            };
          },
        });
      }
    }),
    { numRuns: isFull ? 1_000 : 300 },
  );
});

function contentOf(n: number, dueAt: string): InvoiceContent {
  return {
    id: `inv-${n}`,
    customerId: 'cus-1',
    amountMinor: 100 + n,
    currency: n % 3 === 0 ? 'EUR' : 'USD',
    dueAt,
    paymentMethod: 'pm_card_visa',
  };
}

function claimed(batchId: string, now: number): InvoiceChange {
  const at = new Date(now).toISOString();
  return {
    set: {
      status: 'claimed',
      claim: { batchId, by: 'host', runId: 'run', fence: 1, attempt: 1, at, phase: 'calling' },
      actionableAt: new Date(now + 300_000).toISOString(),
    },
    entry: { at, what: 'claimed', by: 'host', batchId },
  };
}

function settled(status: Invoice['status'], at: string, settlement: string): InvoiceChange {
  const entry = { at, what: status, by: 'host', settlement };
  const payment = { keyNumber: 1, declines: 0, deferrals: 0 };
  switch (status) {
    case 'paid':
      return {
        set: { status, payment: { ...payment, id: `pi_${settlement}`, paidAt: at } },
        clear: ['claim', 'actionableAt'],
        entry,
      };
    case 'declined':
      return { set: { status, declinedAt: at }, clear: ['claim', 'actionableAt'], entry };
    case 'pending':
      return { set: { status, actionableAt: at }, clear: ['claim'], entry };
    case 'claimed':
    case 'parked':
    case 'processing':
    case 'voided':
      return { set: { status }, clear: ['claim', 'actionableAt'], entry };
  }
}
