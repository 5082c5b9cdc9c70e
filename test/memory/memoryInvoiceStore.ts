import { z } from 'zod';
import { continuationAt, placeOf } from '../../packages/jobs/src/documents/pages.ts';
import { readableDocument, readableDocuments } from '../../packages/jobs/src/documents/storedDocuments.ts';
import type { OnUnreadable } from '../../packages/jobs/src/documents/unreadable.ts';
import type { Clock } from '../../packages/leases/src/clock.ts';
import { counterKeeper, reportEntriesOf } from '../../src/invoice/counters/counters.ts';
import { invoiceCounters } from '../../src/invoice/counters/invoiceCounters.ts';
import { invoiceSchema, isInvoice } from '../../src/invoice/invoice.ts';
import { type TermKind, termOf, wordsOf } from '../../src/invoice/searchTerms.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { pageByShard } from '../../src/invoice/store/cosmosInvoiceReads.ts';
import { amountsOf, mostFound, totalsOf } from '../../src/invoice/store/cosmosSearch.ts';
import {
  type InvoiceFilter,
  type InvoiceStore,
  oldestDue,
  retryWithinMs,
} from '../../src/invoice/store/invoiceStore.ts';
import { addInvoices, invoiceWrites } from '../../src/invoice/store/invoiceWrites.ts';
import { memoryCounterReads } from './memoryCounterReads.ts';
import { type MemoryDocuments, type StoredDocument, textIn } from './memoryDocuments.ts';

const ofInvoices = { type: 'invoice' };

/** An invoice store in memory. Its writes are those of every invoice store; only the reads are its own. */
export function memoryInvoiceStore(
  documents: MemoryDocuments,
  { clock, shards, onUnreadable }: { clock: Clock; shards: number; onUnreadable?: OnUnreadable },
): InvoiceStore {
  const reads = memoryCounterReads(documents);
  const counters = counterKeeper({ documents, clock });
  const iso = () => new Date(clock.now()).toISOString();
  const parts = { documents, clock, shards, counters };

  return {
    ...invoiceWrites(parts),
    ...invoiceCounters({ ...parts, reads, onUnreadable }),
    add: addInvoices(parts),

    // Each page is a query of its own, as in Cosmos: it sees what was written while the page before was worked on.
    async *due({ shard, now, pageSize }) {
      for (let last: StoredDocument | undefined; ;) {
        const due = await documents.query((document) => isDue(document, now), shard, ofInvoices);
        const behind = due
          .toSorted(byDueTime)
          .filter((one) => last === undefined || byDueTime(one, last) > 0);
        const page = behind.slice(0, pageSize);
        last = page.at(-1);
        if (last === undefined) return;
        const invoices = readableDocuments(page, invoiceSchema, 'invoice', onUnreadable);
        if (invoices.length > 0) yield invoices;
      }
    },

    async find(id) {
      const [document] = await documents.read(shardOf(id, shards), [id]);
      return isInvoice(document) ? readableDocument(document, invoiceSchema, 'invoice') : undefined;
    },

    async list({ pageSize, continuation, ...filter }) {
      const page = { shards, pageSize, ...(continuation === undefined ? {} : { continuation }) };
      const { items, ...rest } = await pageByShard(page, async ({ shard, behind, limit }) => {
        const found = await documents.query(
          (document) => (behind === undefined || document.id > behind) && matches(document, filter, iso()),
          shard,
          ofInvoices,
        );
        return found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
      });
      return { items: readableDocuments(items, invoiceSchema, 'invoice'), ...rest };
    },

    async listByDue({ order, dueAfter, dueBefore, pageSize, continuation }) {
      const from = continuation === undefined ? 0 : placeOf(z.int(), continuation);
      const found = await documents.query(
        (one) => {
          const dueAt = textIn(one, 'dueAt');
          return dueAt >= (dueAfter ?? '') && (dueBefore === undefined || dueAt < dueBefore);
        },
        undefined,
        ofInvoices,
      );
      const sorted = found.toSorted((a, b) => (textIn(a, 'dueAt') < textIn(b, 'dueAt') ? -1 : 1));
      if (order === 'DESC') sorted.reverse();
      const items = readableDocuments(sorted.slice(from, from + pageSize), invoiceSchema, 'invoice');
      return from + pageSize < found.length
        ? { items, continuation: continuationAt(from + pageSize) }
        : { items };
    },

    async totals(filter, most) {
      const found = await documents.query((one) => matches(one, filter, iso()), undefined, ofInvoices);
      return { ...totalsOf(readableDocuments(found, invoiceSchema, 'invoice'), most), charge: 0 };
    },

    async search(text) {
      const all = await documents.query(() => true, undefined, ofInvoices);
      const has = ({ terms }: StoredDocument, kind: TermKind, beginning: string) =>
        Array.isArray(terms) && terms.some((term) => String(term).startsWith(termOf(kind, beginning)));
      const words = wordsOf(text);
      const amounts = amountsOf(text);
      const groups = [
        { kind: 'invoice' as const, found: all.filter((one) => has(one, 'invoice', text)) },
        {
          kind: 'payment' as const,
          found: all.filter((one) => paymentOf(one).id?.startsWith(text) === true),
        },
        {
          kind: 'description' as const,
          found: all.filter((one) => words.length > 0 && words.every((word) => has(one, 'word', word))),
        },
        {
          kind: 'amount' as const,
          found: all.filter((one) => amounts.get(Number(one.amountMinor))?.includes(textIn(one, 'currency'))),
        },
      ];
      const ofCustomer = all.filter((one) => has(one, 'customer', text));
      const customers = [...new Set(ofCustomer.map((one) => textIn(one, 'customerId')))].toSorted();
      return {
        groups: groups.map(({ kind, found }) => ({ kind, ...few(found) })),
        customers: customers.slice(0, mostFound),
        hasMoreCustomers: customers.length > mostFound,
        charge: 0,
      };
    },

    async openClaims(now) {
      return documents.count((one) => !isDue(one, now), { ...ofInvoices, status: 'claimed' });
    },

    async overdue(now) {
      const soon = new Date(Date.parse(now) + retryWithinMs).toISOString();
      const due = (await documents.query(() => true, undefined, ofInvoices)).filter(
        (one) => textIn(one, 'dueAt') <= now,
      );
      const keyOf = (one: StoredDocument) => paymentOf(one).keyCreatedAt;
      const claimed = due.filter((one) => keyOf(one) !== undefined && isDue(one, soon));
      const waiting = due.filter((one) => keyOf(one) === undefined && isDue(one, now));
      const claimedSince = claimed.flatMap((one) => keyOf(one) ?? []).toSorted()[0];
      const times = waiting.map((one) => ({
        actionableAt: textIn(one, 'actionableAt'),
        createdAt: textIn(one, 'createdAt'),
      }));
      const dueSince = oldestDue(times);
      return {
        count: claimed.length + waiting.length,
        ...(claimedSince === undefined ? {} : { claimedSince }),
        ...(dueSince === undefined ? {} : { dueSince }),
      };
    },

    async parkedByReason() {
      const parked = await documents.query(({ status }) => status === 'parked', undefined, ofInvoices);
      const byReason = Map.groupBy(parked, ({ reason = 'no reason given' }) => String(reason));
      return new Map([...byReason].map(([reason, some]) => [reason, some.length]));
    },

    async parkedCount() {
      return (await documents.query(() => true, undefined, { ...ofInvoices, status: 'parked' })).length;
    },

    async toCheck({ now, limit }) {
      const due = await documents.query(
        ({ checkAt }) => typeof checkAt === 'string' && checkAt !== '' && checkAt <= now,
        undefined,
        ofInvoices,
      );
      const first = due.toSorted((a, b) => (textIn(a, 'checkAt') < textIn(b, 'checkAt') ? -1 : 1));
      return readableDocuments(first.slice(0, limit), invoiceSchema, 'invoice', onUnreadable);
    },

    async inProgressSince() {
      const invoices = await documents.query(() => true, undefined, ofInvoices);
      return invoices
        .flatMap((invoice) => paymentOf(invoice).inProgress?.since ?? [])
        .toSorted()
        .at(0);
    },

    async unknownSince() {
      const invoices = await documents.query(() => true, undefined, ofInvoices);
      return invoices
        .flatMap((invoice) => paymentOf(invoice).unknownSince ?? [])
        .toSorted()
        .at(0);
    },
  };
}

function isDue({ actionableAt }: StoredDocument, now: string): boolean {
  return typeof actionableAt === 'string' && actionableAt <= now;
}

/** Longest waiting first. Two that became due at the same time have an order too, or a page could not end between them. */
function byDueTime(one: StoredDocument, other: StoredDocument): number {
  const [due, otherDue] = [textIn(one, 'actionableAt'), textIn(other, 'actionableAt')];
  return due === otherDue ? one._rid - other._rid : due < otherDue ? -1 : 1;
}

/** As much of the payment as is looked at; of any invoice, readable or not. */
function paymentOf({ payment }: StoredDocument): {
  id?: string;
  keyCreatedAt?: string;
  unknownSince?: string;
  paidAt?: string;
  inProgress?: { since?: string };
} {
  return typeof payment === 'object' && payment !== null ? payment : {};
}

function matches(document: StoredDocument, filter: InvoiceFilter, now: string): boolean {
  const { customer, currency, status, dueAfter, dueBefore, undecided, only, run, counted } = filter;
  const dueAt = textIn(document, 'dueAt');
  return (
    (customer === undefined || document.customerId === customer) &&
    (currency === undefined || document.currency === currency) &&
    (status === undefined || document.status === status) &&
    (dueAfter === undefined || dueAt >= dueAfter) &&
    (dueBefore === undefined || dueAt < dueBefore) &&
    (undecided === undefined || textIn(document, 'checkAt') > '') &&
    (run === undefined || JSON.stringify(document.timeline).includes(`"runId":${JSON.stringify(run)}`)) &&
    (counted === undefined || isCounted(document, counted)) &&
    (only !== 'refunded' || reversedMinor(document, 'refundedMinor') > 0) &&
    (only !== 'disputed' || reversedMinor(document, 'disputedMinor') > 0) &&
    (only !== 'waitsForRetry' ||
      (document.status === 'pending' && dueAt <= now && textIn(document, 'actionableAt') > now))
  );
}

function isCounted(document: StoredDocument, counted: string): boolean {
  const [invoice] = readableDocuments([document], invoiceSchema, 'invoice');
  const entries = invoice === undefined ? [] : reportEntriesOf(invoice);
  return entries.some(({ kind, at }) => counted === `${kind}:${at.slice(0, 10)}`);
}

function reversedMinor({ reversals }: StoredDocument, sum: 'refundedMinor' | 'disputedMinor'): number {
  return (reversals as Partial<Record<typeof sum, number>> | undefined)?.[sum] ?? 0;
}

/** Invoices of one kind, as many as a search shows. */
function few(found: readonly StoredDocument[]) {
  const invoices = readableDocuments(found.slice(0, mostFound), invoiceSchema, 'invoice');
  return { invoices, hasMore: found.length > mostFound };
}
