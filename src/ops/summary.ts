import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { type InvoiceStatus, invoiceStatuses } from '../invoice/invoice.ts';
import { oldestPendingMs } from '../outbox/oldestPending.ts';
import type { Clock } from '../platform/clock.ts';

export interface Summary {
  invoices: Record<InvoiceStatus, number>;
  outbox: { pending: number; parked: number; oldestPendingSeconds: number };
  /** Claims whose holder has given no sign of life for too long. */
  staleClaims: number;
  /** Invoices for which a successful charge is recorded. */
  charges: number;
}

const countByStatus = z.array(z.object({ status: z.string(), n: z.number() }));

/** How everything stands, in five queries over all shards. */
export async function summarize({
  container,
  clock,
}: {
  container: Container;
  clock: Clock;
}): Promise<Summary> {
  const now = clock.now();
  const [invoices, outbox, oldest, stale, charges] = await Promise.all([
    byStatus('invoice'),
    byStatus('outboxMessage'),
    oldestPendingMs(container, now),
    value(z.number(), `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'claimed' AND c.actionableAt <= @now`),
    value(z.number(), `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'invoice' AND IS_DEFINED(c.payment.id)`),
  ]);
  const count = (status: InvoiceStatus) => invoices.get(status) ?? 0;
  return {
    invoices: Object.fromEntries(
      invoiceStatuses.map((status) => [status, count(status)]),
    ) as Summary['invoices'],
    outbox: {
      pending: outbox.get('pending') ?? 0,
      parked: outbox.get('parked') ?? 0,
      oldestPendingSeconds: Math.round(oldest / 1000),
    },
    staleClaims: stale ?? 0,
    charges: charges ?? 0,
  };

  async function byStatus(type: string): Promise<Map<string, number>> {
    const query = {
      query: 'SELECT c.status, COUNT(1) AS n FROM c WHERE c.type = @type GROUP BY c.status',
      parameters: [{ name: '@type', value: type }],
    };
    const { resources } = await container.items.query(query).fetchAll();
    return new Map(countByStatus.parse(resources).map(({ status, n }) => [status, n]));
  }

  async function value<T>(schema: z.ZodType<T>, query: string): Promise<T | undefined> {
    const parameters = [{ name: '@now', value: new Date(now).toISOString() }];
    const { resources } = await container.items.query({ query, parameters }).fetchAll();
    const parsed = schema.safeParse(resources[0]);
    return parsed.success ? parsed.data : undefined;
  }
}
