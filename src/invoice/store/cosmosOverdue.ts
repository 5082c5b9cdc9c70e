import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { queryAll, queryCount, queryOldest } from '../../documents/cosmosQueries.ts';
import type { Backlog } from './invoiceStore.ts';
import { type Overdue, oldestDue, retryWithinMs } from './overdue.ts';

/** Rows that are looked at for the oldest invoice that was never claimed. */
const looksAt = 10;

const waitingSchema = z.array(z.object({ actionableAt: z.string(), createdAt: z.string() }));

/**
 * What should have been paid by `now` (ISO 8601, UTC). The figures know what is due and what is claimed. What waits for
 * another try has a key and is pending: those are few. A condition under NOT leaves the choice of the index to the others.
 *
 * @throws {StoreAway}
 */
export async function cosmosOverdue(
  container: Container,
  now: string,
  backlog: (now: string) => Promise<Backlog>,
): Promise<Overdue> {
  const soon = new Date(Date.parse(now) + retryWithinMs).toISOString();
  const parameters = [
    { name: '@now', value: now },
    { name: '@soon', value: soon },
  ];
  const retried = `c.status = 'pending' AND c.payment.keyCreatedAt > '' AND NOT (c.actionableAt > @soon)
    AND NOT (c.dueAt > @now)`;
  const [{ waiting, claimed }, retriedSoon, claimedSince, retriedSince, longestDue] = await Promise.all([
    backlog(now),
    queryCount(container, {
      query: `SELECT VALUE COUNT(1) FROM c WHERE ${retried} AND NOT (c.actionableAt <= @now)`,
      parameters,
    }),
    queryOldest(container, `SELECT VALUE MIN(c.payment.keyCreatedAt) FROM c WHERE c.status = 'claimed'`),
    queryOldest(container, {
      query: `SELECT TOP 1 VALUE c.payment.keyCreatedAt FROM c WHERE ${retried} ORDER BY c.payment.keyCreatedAt`,
      parameters,
    }),
    queryAll(container, {
      query: `SELECT c.actionableAt, c.createdAt FROM c
        WHERE c.actionableAt <= @now AND c.dueAt <= @now AND NOT IS_DEFINED(c.payment.keyCreatedAt)
        ORDER BY c.actionableAt OFFSET 0 LIMIT ${looksAt}`,
      parameters,
    }),
  ]);
  const [since] = [claimedSince, retriedSince].filter((at) => at !== undefined).toSorted();
  const dueSince = oldestDue(waitingSchema.parse(longestDue));
  return {
    count: waiting + claimed + retriedSoon,
    ...(since === undefined ? {} : { claimedSince: since }),
    ...(dueSince === undefined ? {} : { dueSince }),
  };
}
