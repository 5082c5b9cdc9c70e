import { z } from 'zod';
import { shardOf } from '../../src/invoice/shard.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { TrialWorld } from './trial.ts';

const refundedMinor = 300;

/** The body and the headers of the only request for a refund that a trial makes, however often. */
export const onlyRefund = [
  { amountMinor: refundedMinor, reason: 'returned' },
  { 'idempotency-key': 'the-only-one' },
] as const satisfies [unknown, Record<string, string>];

const refundRows = z.array(
  z.object({ id: z.string(), invoiceId: z.string().nullable(), amount: z.number(), status: z.string() }),
);
const refundedSchema = z.object({
  reversals: z
    .object({
      refunds: z.array(z.object({ providerId: z.string().optional(), status: z.string() })),
      refundedMinor: z.number(),
    })
    .optional(),
});

/** Each invoice has one refund, at the provider and in the store, and both say the same. */
export async function refundProblems({ cloud, invoices }: TrialWorld): Promise<string[]> {
  const rows = refundRows.parse(await (await fetch(`${cloud.payments}/_local/refunds`)).json());
  const container = cloud.cosmosClient.database(databaseName).container(containers.invoices.name);
  const problems = invoices.map(async ({ id }) => {
    const made = rows.filter(({ invoiceId }) => invoiceId === id);
    const { resource } = await container.item(id, shardOf(id, 1)).read<object>();
    const { refunds = [], refundedMinor: sum = 0 } = refundedSchema.parse(resource).reversals ?? {};
    const holds =
      made.length === 1 &&
      made[0]?.amount === refundedMinor &&
      refunds.length === 1 &&
      refunds[0]?.providerId === made[0].id &&
      refunds[0].status === made[0].status &&
      sum === refundedMinor;
    return holds
      ? []
      : [`${id} has refunds ${JSON.stringify(refunds)}, and at the provider ${JSON.stringify(made)}`];
  });
  return (await Promise.all(problems)).flat();
}
