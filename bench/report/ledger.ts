import { z } from 'zod';
import { minorAmount } from '../../src/stripe/stripeAmount.ts';
import type { Recount } from './countDocuments.ts';
import { count, type Figures } from './figures.ts';

const currencySchema = z.string().transform((code) => code.toUpperCase());
const moved = z.object({ amount: z.int(), currency: currencySchema, status: z.string() });
const ledgerSchema = z.object({
  charges: z.array(moved.extend({ id: z.string(), paymentIntent: z.string() })),
  refunds: z.array(moved.extend({ id: z.string() })),
  disputes: z.array(moved.extend({ id: z.string() })),
});
export type Ledger = z.infer<typeof ledgerSchema>;

/** The ledger of the local payment provider (docs/local-payments.md). */
export async function readLedger(provider: string): Promise<Ledger> {
  const [charges, refunds, disputes] = await Promise.all(
    ['charges', 'refunds', 'disputes'].map(async (name) =>
      (await fetch(`${provider}/_local/${name}`)).json(),
    ),
  );
  return ledgerSchema.parse({ charges, refunds, disputes });
}

/**
 * Counts the ledger over the same time: a payment, refund or dispute counts if the documents have it in that time.
 * `missing` names those that only one side has at all.
 */
export function countLedger(
  { charges, refunds, disputes }: Ledger,
  { recorded }: Pick<Recount, 'recorded'>,
): { figures: Figures; missing: string[] } {
  const figures: Figures = new Map();
  const unseen = new Set(recorded.keys());
  const missing: string[] = [];
  for (const { paymentIntent, ...charge } of charges) add(paymentIntent, ['paid'], charge);
  for (const refund of refunds) {
    if (!['failed', 'canceled'].includes(refund.status)) add(refund.id, ['refunded'], refund);
  }
  for (const dispute of disputes) {
    if (['won', 'warning_closed'].includes(dispute.status)) continue;
    add(dispute.id, dispute.status === 'lost' ? ['disputed', 'disputeLost'] : ['disputed'], dispute);
  }
  return { figures, missing: [...missing, ...[...unseen].map((id) => `${id} is not in the ledger`)] };

  function add(
    id: string,
    kinds: string[],
    { amount, currency }: { amount: number; currency: string },
  ): void {
    const known = recorded.get(id);
    unseen.delete(id);
    if (known === undefined) missing.push(`${id} is in the ledger only: ${kinds[0]} ${amount} ${currency}`);
    if (known?.counts !== true) return;
    for (const kind of kinds) count(figures, `${currency} ${kind}`, minorAmount(amount, currency));
  }
}
