import type { Container, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import {
  cosmosDocuments,
  fromCosmos,
  queryAll,
  queryCount,
  queryOldest,
  readDocument,
  whereAll,
} from '../../documents/cosmosDocuments.ts';
import { continuationAt, type Page, placeOf } from '../../documents/pages.ts';
import { type OnUnreadable, readableDocument, readableDocuments } from '../../documents/storedDocuments.ts';
import { fenceId, highestFence } from '../../locking/fence.ts';
import type { Clock } from '../../platform/clock.ts';
import { dayId, standingId } from '../figures/counters.ts';
import { figureKeeper } from '../figures/figureKeeper.ts';
import { type FigureReads, invoiceFigures } from '../figures/invoiceFigures.ts';
import { invoiceSchema, isInvoice } from '../invoice.ts';
import { shardNames, shardOf } from '../shard.ts';
import { addInvoices } from './addInvoices.ts';
import {
  type Backlog,
  type InvoiceFilter,
  type InvoiceStore,
  type Overdue,
  oldestDue,
  retryWithinMs,
} from './invoiceStore.ts';
import { invoiceWrites } from './invoiceWrites.ts';

const reasonsSchema = z.array(z.object({ name: z.string().default('no reason given'), n: z.number() }));

/** Invoices in the Cosmos container `invoices`, whose partition key is the shard. */
export function cosmosInvoiceStore(
  container: Container,
  { clock, shards, onUnreadable }: { clock: Clock; shards: number; onUnreadable?: OnUnreadable },
): InvoiceStore {
  const documents = cosmosDocuments(container);
  const reads = cosmosFigureReads(container);
  const figures = figureKeeper({ documents, clock });
  const parts = { documents, clock, shards, figures };

  const kept = invoiceFigures({ ...parts, reads, onUnreadable });

  return {
    ...invoiceWrites(parts),
    ...kept,
    add: addInvoices(parts),

    // One indexed field answers "what is there to do": settled invoices have no `actionableAt`.
    async *due({ shard, now, pageSize }) {
      const pages = container.items.query<unknown>(
        {
          query: 'SELECT * FROM c WHERE c.actionableAt <= @now ORDER BY c.actionableAt',
          parameters: [{ name: '@now', value: now }],
        },
        { partitionKey: shard, maxItemCount: pageSize },
      );
      while (pages.hasMoreResults()) {
        const { resources } = await fromCosmos(() => pages.fetchNext());
        const invoices = readableDocuments(resources ?? [], invoiceSchema, 'invoice', onUnreadable);
        if (invoices.length > 0) yield invoices;
      }
    },

    async find(id) {
      const document = await readDocument(container, shardOf(id, shards), id);
      return isInvoice(document) ? readableDocument(document, invoiceSchema, 'invoice') : undefined;
    },

    async list({ pageSize, continuation, ...filter }) {
      const page = { shards, pageSize, ...(continuation === undefined ? {} : { continuation }) };
      const { items, ...rest } = await pageByShard(page, (query) => listShard(container, filter, query));
      return { items: readableDocuments(items, invoiceSchema, 'invoice'), ...rest };
    },

    openClaims,

    overdue: (now) => cosmosOverdue(container, now, (at) => kept.backlog(at)),

    parkedCount: () =>
      queryCount(container, `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'invoice' AND c.status = 'parked'`),

    async parkedByReason() {
      const query = `SELECT c.reason AS name, COUNT(1) AS n FROM c
        WHERE c.type = 'invoice' AND c.status = 'parked' GROUP BY c.reason`;
      const found = reasonsSchema.parse(await queryAll(container, query));
      return new Map(found.map(({ name, n }) => [name, n]));
    },

    async highestFence(lockKey) {
      const parameters = [{ name: '@id', value: fenceId(lockKey) }];
      const query = 'SELECT VALUE c.fence FROM c WHERE c.id = @id';
      return highestFence(await queryAll(container, { query, parameters }));
    },

    async toCheck({ now, limit }) {
      const found = await queryAll(container, {
        query: `SELECT * FROM c WHERE c.checkAt <= @now ORDER BY c.checkAt OFFSET 0 LIMIT @limit`,
        parameters: [
          { name: '@now', value: now },
          { name: '@limit', value: limit },
        ],
      });
      return readableDocuments(found, invoiceSchema, 'invoice', onUnreadable);
    },

    inProgressSince: () =>
      queryOldest(
        container,
        `SELECT VALUE MIN(c.payment.inProgress.since) FROM c WHERE c.payment.inProgress.since > ''`,
      ),

    unknownSince: () =>
      queryOldest(
        container,
        `SELECT VALUE MIN(c.payment.unknownSince) FROM c WHERE c.payment.unknownSince > ''`,
      ),
  };

  function openClaims(now: string): Promise<number> {
    return queryCount(container, {
      query: `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'claimed' AND c.actionableAt > @now`,
      parameters: [{ name: '@now', value: now }],
    });
  }
}

/**
 * If no more than this have a due date in the range, they are looked up by it. If more do, the order of the ids meets them
 * soon enough. Either way most of the shard is not read.
 */
const fewMatches = 1000;

const textsSchema = z.array(z.string());

/**
 * Invoices of one shard in the order of their ids. Cosmos keeps `id` in its index whatever the policy says
 * (https://learn.microsoft.com/azure/cosmos-db/index-policy). @throws {StoreAway}
 */
export async function listShard(
  container: Container,
  filter: InvoiceFilter,
  { shard, behind, limit }: { shard: string; behind?: string; limit: number },
): Promise<unknown[]> {
  const { customer, currency, status, dueAfter, dueBefore, undecided } = filter;
  const { where, parameters } = whereAll('invoice', [
    { condition: 'c.customerId = @customer', name: '@customer', value: customer },
    { condition: 'c.currency = @currency', name: '@currency', value: currency },
    { condition: 'c.status = @status', name: '@status', value: status },
    { condition: 'c.dueAt >= @dueAfter', name: '@dueAfter', value: dueAfter },
    { condition: 'c.dueAt < @dueBefore', name: '@dueBefore', value: dueBefore },
    { condition: 'c.checkAt > @never', name: '@never', value: undecided && '' },
    { condition: 'c.id > @behind', name: '@behind', value: behind },
  ]);
  if (dueAfter === undefined && dueBefore === undefined) return inOrder(where);
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

/** Where a page ended: the shard and the id of its last document. */
const placeSchema = z.strictObject({ shard: z.string(), id: z.string() });

/** Reads documents of a shard that come behind an id, in the order of their ids: `limit` of them, or all there are. */
type ReadShard = (query: { shard: string; behind?: string; limit: number }) => Promise<unknown[]>;

/**
 * A page of the documents of all shards, in the order of shard and id. No change of a document moves it in that order, so
 * none is shown twice or hidden because of what happens between two pages; one that only then begins or ceases to match
 * is shown if it matches when its page is read.
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

/** Invoices that a page of a recount holds at most. */
const pageSize = 1000;

/** Fields that the figures depend on. */
const countedFields = `c.id, c.version, c.currency, c.amountMinor, c.status, c.actionableAt, c.payment, c.declinedAt,
  c.reversals`;

/** See `FigureReads`. Each query but that of `all` uses an index, and finds little. */
export function cosmosFigureReads(container: Container): FigureReads {
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
