/** Requests that people and the sweeper repeat must not read more the more invoices there are. */

import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { cosmosOutboxStore } from '../../../packages/jobs/src/outbox/cosmosOutboxStore.ts';
import type { OutboxStore } from '../../../packages/jobs/src/outbox/outboxStore.ts';
import { shardNames } from '../../../src/invoice/shard.ts';
import { cosmosCounterReads } from '../../../src/invoice/store/cosmosInvoiceReads.ts';
import { cosmosInvoiceStore } from '../../../src/invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from '../../../src/invoice/store/invoiceStore.ts';
import { payonceCosmos } from '../../support/payonceCosmos.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { expectExact } from './countersWorld.ts';
import { storeMany } from './manyInvoices.ts';

const shards = 4;
const few = 200;
const many = 1_600;

test('the charge of each is the same for 200 invoices and for 1,600', { timeout: 120_000 }, async () => {
  const ofFew = { ...(await chargesWith(few)), ...(await chargesWith(few, searched)) };
  const ofMany = { ...(await chargesWith(many)), ...(await chargesWith(many, searched)) };
  const dearer = Object.entries(ofMany).filter(([name, charge]) => charge > (ofFew[name] ?? 0) * 1.3 + 1);
  expect(Object.fromEntries(dearer)).toEqual({});
});

test('a query that counts invoices is seen', { timeout: 120_000 }, async () => {
  const [ofFew, ofMany] = [await chargesWith(few, counting), await chargesWith(many, counting)];
  expect(ofMany.counted).toBeGreaterThan((ofFew.counted ?? 0) + (many - few) * 0.02);
});

type Ask = (stores: { invoices: InvoiceStore; outbox: OutboxStore; now: number }) => Promise<unknown>;

const iso = (ms: number) => new Date(ms).toISOString();
const list =
  (filter: object): Ask =>
  ({ invoices }) =>
    invoices.list({ ...filter, pageSize: 20 });

const asked: Readonly<Record<string, Ask>> = {
  'summary: figures': ({ invoices, now }) => invoices.counts(iso(now)),
  'summary: backlog': ({ invoices, now }) => invoices.backlog(iso(now)),
  'summary: pending messages': ({ outbox }) => outbox.count({ status: 'pending' }),
  'summary: parked messages': ({ outbox }) => outbox.count({ status: 'parked' }),
  'summary: oldest message': ({ outbox }) => outbox.oldestPending(),
  report: ({ invoices }) => invoices.dayCounts({ from: '2026-01-01', to: '2026-12-31' }),
  'sweep: overdue': ({ invoices, now }) => invoices.overdue(iso(now)),
  'sweep: parked': ({ invoices }) => invoices.parkedCount(),
  'sweep: unknown': ({ invoices }) => invoices.unknownSince(),
  'sweep: in progress': ({ invoices }) => invoices.inProgressSince(),
  'sweep: checks': ({ invoices, now }) => invoices.toCheck({ now: iso(now), limit: 10 }),
  'sweep: due messages': ({ outbox, now }) => outbox.due({ now: iso(now), limit: 100 }),
  'claims: open claims': ({ invoices, now }) => invoices.openClaims(iso(now)),
  'claims: a page': async ({ invoices, now }) => {
    for await (const _ of invoices.due({ shard: '00', now: iso(now), pageSize: 20 })) return;
  },
  'list: all': list({}),
  'list: of a status': list({ status: 'paid' }),
  'list: of a status that none has': list({ status: 'parked' }),
  'list: of a customer': list({ customer: 'cus-7' }),
  'list: of a currency': list({ currency: 'EUR' }),
  'list: of a currency that none has': list({ currency: 'KWD' }),
  'list: due in years': list({ dueAfter: '2030-01-01T00:00:00.000Z' }),
  'list: due years ago': list({ dueBefore: '2020-01-01T00:00:00.000Z' }),
};

/** In a container of their own: the stand-in makes a limited number of indexes. */
const searched: Readonly<Record<string, Ask>> = {
  'list: disputed': list({ only: 'disputed' }),
  'list: by the due date': ({ invoices }) => invoices.listByDue({ order: 'ASC', pageSize: 20 }),
  'search: an id': ({ invoices }) => invoices.search('INV-1'),
  'search: a customer': ({ invoices }) => invoices.search('cus-7'),
  'search: a word': ({ invoices }) => invoices.search('care'),
  'search: an amount': ({ invoices }) => invoices.search('1.99'),
  'search: a payment': ({ invoices }) => invoices.search('pi_inv-7'),
  'search: nothing': ({ invoices }) => invoices.search('zzz'),
};

const counting: Readonly<Record<string, Ask>> = {
  counted: async ({ invoices }) => {
    for (const shard of shardNames(shards)) await invoices.recount(shard);
  },
};

/** Measures the charge of each request with this many invoices (request units). */
async function chargesWith(count: number, asks = asked): Promise<Record<string, number>> {
  const cosmos = await payonceCosmos();
  onTestFinished(() => cosmos[Symbol.asyncDispose]());
  const now = Date.parse('2026-06-01T12:00:00.000Z');
  const clock = virtualClock(now);
  const container = cosmos.containers.invoices;
  const invoices = cosmosInvoiceStore(container, { clock, shards });
  const outbox = cosmosOutboxStore(container);
  await storeMany(invoices, count, { shards, now });
  await expectExact(invoices, cosmosCounterReads(container), { shards, now: iso(now) });
  const charges: Record<string, number> = {};
  for (const [name, ask] of Object.entries(asks)) {
    // The first query of a shape makes its index.
    await ask({ invoices, outbox, now });
    const before = await charged();
    await ask({ invoices, outbox, now });
    charges[name] = Math.round(((await charged()) - before) * 100) / 100;
  }
  return charges;

  async function charged(): Promise<number> {
    const address = /AccountEndpoint=([^;]+)/.exec(cosmos.connectionString)?.[1] ?? '';
    const stats: unknown = await (await fetch(new URL('/_local/stats', address))).json();
    return z.object({ requestUnits: z.object({ invoices: z.number() }) }).parse(stats).requestUnits.invoices;
  }
}
