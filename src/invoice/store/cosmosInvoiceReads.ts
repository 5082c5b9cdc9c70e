import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { continuationAt, type Page, placeOf } from '@payonce/jobs/documents';
import {
  fromCosmos,
  type QueryCondition,
  queryAll,
  queryCount,
  queryOldest,
  whereAll,
} from '@payonce/jobs/documents/cosmos';
import { z } from 'zod';
import { dayId, type ReportKind, standingId } from '../counters/counters.ts';
import type { CounterReads } from '../counters/invoiceCounters.ts';
import type { Only } from '../foundKinds.ts';
import { shardNames } from '../shard.ts';
import { type Backlog, type InvoiceFilter, type Overdue, oldestDue, retryWithinMs } from './invoiceStore.ts';

/**
 * If no more than this have a due date in the range, they are looked up by it. If more do, the order of the ids meets them
 * soon enough. Either way most of the shard is not read.
 */
const fewMatches = 1000;

const textsSchema = z.array(z.string());

const some = (things: string, condition: string) =>
  `EXISTS (SELECT VALUE r FROM r IN c.reversals.${things} WHERE STARTSWITH(r.at, @day) AND ${condition})`;

/** Conditions for what the report counts of a day. Without second payments, for which all paid invoices would be read. */
const countedOn: Readonly<Record<ReportKind, string>> = {
  paid: 'STARTSWITH(c.payment.paidAt, @day)',
  declined: `c.status = 'declined' AND STARTSWITH(c.declinedAt, @day)`,
  refunded: `c.reversals.refundedMinor > 0 AND ${some('refunds', `r.status != 'failed' AND r.status != 'canceled'`)}`,
  disputed: `c.reversals.disputedMinor > 0 AND ${some('disputes', `r.status != 'won'`)}`,
  disputeLost: `c.reversals.disputedMinor > 0 AND ${some('disputes', `r.status = 'lost'`)}`,
};

/** The part of a query that finds the invoices that match at `now` (ISO 8601, UTC). Pure. */
export function whereOf(
  { customer, currency, status, dueAfter, dueBefore, undecided, only, run, counted }: InvoiceFilter,
  now: string,
  more: readonly QueryCondition[] = [],
) {
  const [kind = 'paid', day] = (counted?.split(':') ?? []) as [ReportKind?, string?];
  return whereAll('invoice', [
    { condition: 'c.customerId = @customer', name: '@customer', value: customer },
    { condition: 'c.currency = @currency', name: '@currency', value: currency },
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.dueAt >= @dueAfter', name: '@dueAfter', value: dueAfter },
    { condition: 'c.dueAt < @dueBefore', name: '@dueBefore', value: dueBefore },
    { condition: 'c.checkAt > @never', name: '@never', value: undecided && '' },
    { condition: 'c.reversals.refundedMinor > @none', name: '@none', value: ifOnly('refunded', 0) },
    { condition: 'c.reversals.disputedMinor > @none', name: '@none', value: ifOnly('disputed', 0) },
    // As `waitsForRetry` has it (after/retryInvoice.ts). What is pending and past its due date is little.
    {
      condition: `c.status = 'pending' AND c.dueAt <= @now AND NOT (c.actionableAt <= @now)`,
      name: '@now',
      value: ifOnly('waitsForRetry', now),
    },
    {
      condition: 'EXISTS (SELECT VALUE e FROM e IN c.timeline WHERE e.runId = @run)',
      name: '@run',
      value: run,
    },
    { condition: countedOn[kind], name: '@day', value: day },
    ...more,
  ]);

  function ifOnly<T>(wanted: Only, value: T): T | undefined {
    return only === wanted ? value : undefined;
  }
}

/**
 * Invoices of one shard in the order of their ids. Cosmos keeps `id` in its index whatever the policy says
 * (https://learn.microsoft.com/azure/cosmos-db/index-policy). @throws {StoreAway}
 */
export async function listShard(
  container: Container,
  filter: InvoiceFilter,
  { shard, behind, limit, now }: { shard: string; behind?: string; limit: number; now: string },
): Promise<unknown[]> {
  const { dueAfter, dueBefore, only, run, counted } = filter;
  const { where, parameters } = whereOf(filter, now, [
    { condition: 'c.id > @behind', name: '@behind', value: behind },
  ]);
  if ((dueAfter ?? dueBefore ?? only ?? run ?? counted) === undefined) return inOrder(where);
  const query = `SELECT TOP ${fewMatches} VALUE c.id FROM c WHERE ${where}`;
  const found = textsSchema.parse(await queryAll(container, { query, parameters }, shard));
  if (found.length === fewMatches) return inOrder(where);
  const first = found.toSorted(byCodePoints).slice(0, limit);
  if (first.length === 0) return [];
  const ids = first.map((value, index) => ({ name: `@id${index}`, value }));
  return inOrder(`${where} AND c.id IN (${ids.map(({ name }) => name).join(', ')})`, ids);

  function inOrder(condition: string, more: SqlParameter[] = []): Promise<unknown[]> {
    const inOrderOfId = `SELECT * FROM c WHERE ${condition} ORDER BY c.id OFFSET 0 LIMIT ${limit}`;
    return queryAll(container, { query: inOrderOfId, parameters: [...parameters, ...more] }, shard);
  }
}

/** UTF-8 sorts as the service does. */
function byCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** End of a page: the shard and the id of its last document. */
const placeSchema = z.strictObject({ shard: z.string(), id: z.string() });

/** Reads documents of a shard that come behind an id, in the order of their ids: `limit` of them, or all there are. */
type ReadShard = (query: { shard: string; behind?: string; limit: number }) => Promise<unknown[]>;

/**
 * A page of the documents of all shards, in the order of shard and id. No change moves a document in that order, so none is
 * shown twice or hidden by what happens between two pages; it is shown if it matches when its page is read.
 *
 * Each query is one of a single partition: over several of them the Cosmos SDK merges the sorted answers with an order of
 * its own, which need not be that of the service for every text, and gives no token to go on with.
 *
 * @throws {BadContinuation}
 */
export async function pageByShard(
  { shards, pageSize, continuation }: { shards: number; pageSize: number; continuation?: string },
  readShard: ReadShard,
): Promise<Page<unknown>> {
  const names = shardNames(shards);
  const place =
    continuation === undefined
      ? undefined
      : placeOf(placeSchema.extend({ shard: z.enum(names) }), continuation);
  const left = place === undefined ? names : names.slice(names.indexOf(place.shard));
  const found: unknown[] = [];
  // One shard mostly fills the page. The more shards have little, the more are asked at once.
  for (let atOnce = 1; left.length > 0 && found.length <= pageSize; atOnce *= 2) {
    const limit = pageSize + 1 - found.length;
    const answers = left
      .splice(0, atOnce)
      .map((shard) => readShard({ shard, limit, ...(shard === place?.shard ? { behind: place.id } : {}) }));
    found.push(...(await Promise.all(answers)).flat());
  }
  const items = found.slice(0, pageSize);
  if (found.length <= pageSize) return { items };
  return { items, continuation: continuationAt(placeSchema.strip().parse(items.at(-1))) };
}

/** Rows that are looked at for the oldest invoice that was never claimed. */
const looksAt = 10;

const waitingSchema = z.array(z.object({ actionableAt: z.string(), createdAt: z.string() }));

/**
 * Invoices that should have been paid by `now` (ISO 8601, UTC). The counters know what is due and what is claimed. What waits for
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

/** Invoices that a page of a recount holds at most. */
export const pageSize = 1000;

/** Fields that the counters depend on. */
const countedFields = `c.id, c.version, c.currency, c.amountMinor, c.status, c.actionableAt, c.payment, c.declinedAt,
  c.reversals`;

/** See `CounterReads`. Each query but that of `all` uses an index, and finds little. */
export function cosmosCounterReads(container: Container): CounterReads {
  return {
    standing: () => queryAll(container, spec('SELECT * FROM c WHERE c.id = @id', { '@id': standingId })),

    days({ from = '0000-01-01', to = '9999-12-31', shard }) {
      const query = 'SELECT * FROM c WHERE c.id >= @from AND c.id <= @to';
      return queryAll(container, spec(query, { '@from': dayId(from), '@to': dayId(to) }), shard);
    },

    pending({ shards, from = '', before }) {
      const query = `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'pending' AND c.actionableAt >= @from
        AND c.actionableAt < @before AND ARRAY_CONTAINS(@shards, c.shard)`;
      return queryCount(container, spec(query, { '@from': from, '@before': before, '@shards': [...shards] }));
    },

    staleClaims: (now) =>
      queryCount(
        container,
        spec(`SELECT VALUE COUNT(1) FROM c WHERE c.status = 'claimed' AND c.actionableAt <= @now`, {
          '@now': now,
        }),
      ),

    async waitingSince(now) {
      const query =
        'SELECT TOP 1 VALUE c.actionableAt FROM c WHERE c.actionableAt <= @now ORDER BY c.actionableAt';
      return textsSchema.parse(await queryAll(container, spec(query, { '@now': now })))[0];
    },

    async *all(shard) {
      const pages = container.items.query<unknown>(
        `SELECT ${countedFields} FROM c WHERE c.type = 'invoice'`,
        { partitionKey: shard, maxItemCount: pageSize },
      );
      while (pages.hasMoreResults()) yield (await fromCosmos(() => pages.fetchNext())).resources ?? [];
    },
  };
}

function spec(query: string, parameters: Readonly<Record<string, SqlParameter['value']>>): SqlQuerySpec {
  return { query, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) };
}
