import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll, queryCount, queryOldest } from '../../documents/cosmosQueries.ts';
import { type Overdue, oldestDue, retryWithinMs } from './overdue.ts';

/** Rows that are looked at for the oldest invoice that was never claimed. */
const looksAt = 10;

const waitingSchema = z.array(z.object({ actionableAt: z.string(), createdAt: z.string() }));

/**
 * What should have been paid by `now` (ISO 8601, UTC). Only open invoices have `actionableAt`, so its index leaves out all
 * that are settled or due some other month. @throws {StoreAway}
 */
export async function cosmosOverdue(container: Container, now: string): Promise<Overdue> {
  const soon = new Date(Date.parse(now) + retryWithinMs).toISOString();
  const parameters = [
    { name: '@now', value: now },
    { name: '@soon', value: soon },
  ];
  const claimedBefore = 'c.actionableAt <= @soon AND c.dueAt <= @now AND IS_DEFINED(c.payment.keyCreatedAt)';
  const neverClaimed =
    'c.actionableAt <= @now AND c.dueAt <= @now AND NOT IS_DEFINED(c.payment.keyCreatedAt)';
  const [claimed, waiting, claimedSince, longestDue] = await Promise.all([
    queryCount(container, { query: `SELECT VALUE COUNT(1) FROM c WHERE ${claimedBefore}`, parameters }),
    queryCount(container, { query: `SELECT VALUE COUNT(1) FROM c WHERE ${neverClaimed}`, parameters }),
    queryOldest(container, {
      query: `SELECT VALUE MIN(c.payment.keyCreatedAt) FROM c WHERE ${claimedBefore}`,
      parameters,
    }),
    queryAll(container, {
      query: `SELECT c.actionableAt, c.createdAt FROM c WHERE ${neverClaimed}
        ORDER BY c.actionableAt OFFSET 0 LIMIT ${looksAt}`,
      parameters,
    }),
  ]);
  const dueSince = oldestDue(waitingSchema.parse(longestDue));
  return {
    count: claimed + waiting,
    ...(claimedSince === undefined ? {} : { claimedSince }),
    ...(dueSince === undefined ? {} : { dueSince }),
  };
}
