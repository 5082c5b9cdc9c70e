import { z } from 'zod';

const ledgerSchema = z.array(z.object({ invoiceId: z.string().nullable() }));

/** Counts the charges that the provider's ledger has beyond one for each invoice. */
export async function readChargedTwice(payments: string): Promise<number> {
  const ledger = ledgerSchema.parse(await (await fetch(`${payments}/_local/charges`)).json());
  return ledger.length - new Set(ledger.map(({ invoiceId }) => invoiceId)).size;
}
