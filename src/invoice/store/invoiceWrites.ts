import { randomUUID } from 'node:crypto';
import { claimDocuments } from '@payonce/jobs/claims';
import {
  type ConditionalWrite,
  type DocumentStore,
  formatVersion,
  maxOperations,
  NoClearAnswer,
  patience,
  readableDocuments,
  refusedBecause,
  StoreAway,
  writeUntilClear,
} from '@payonce/jobs/documents';
import type { Sender } from '@payonce/jobs/outbox';
import type { Clock } from '@payonce/leases/clock';
import pLimit from 'p-limit';
import { z } from 'zod';
import type { CounterKeeper } from '../counters/counters.ts';
import {
  type Imported,
  type Invoice,
  type InvoiceContent,
  importedSchema,
  invoiceSchema,
  type NewInvoice,
} from '../invoice.ts';
import {
  type CalledBefore,
  creationsOf,
  earlierCalls,
  giveBack,
  isStartedAs,
  standing,
  start,
  startAgain,
  type ToStart,
} from '../invoiceChange.ts';
import { firstPaymentState } from '../paymentState.ts';
import { searchTerms } from '../searchTerms.ts';
import { shardOf } from '../shard.ts';
import { contentHash, importedHash, sameContent, type Tombstone, tombstoneSchema } from '../tombstone.ts';
import { changeInvoices, updateInvoice } from './changeInvoices.ts';
import type { AddOutcome, InvoiceStore } from './invoiceStore.ts';

interface WriteParts {
  documents: DocumentStore;
  clock: Clock;
  shards: number;
  counters: CounterKeeper;
}

/** The writes of an invoice store, on whatever keeps the documents: each says what the write loop has to know of it. */
export function invoiceWrites({
  documents,
  clock,
  shards,
  counters,
}: WriteParts): Pick<InvoiceStore, 'claim' | 'start' | 'giveBack' | 'settle' | 'update' | 'change'> {
  const store = { documents, clock, counters };

  return {
    async claim({ shard, batchId, invoices, fence, plan, assertHeld }) {
      let planned: ReturnType<typeof plan> | undefined;
      const { claimed: ours, contended } = await claimDocuments(store, {
        partition: shard,
        items: invoices,
        fence,
        plan(items) {
          planned = plan(items, clock.now());
          const { patches, messages } = planned;
          return [...creationsOf(messages), ...counters.patching(shard, patches, items)];
        },
        onRefused: (operations, codes) => counters.refused(shard, operations, codes),
        parse: readInvoices,
        isApplied: (stored) => names(stored, 'batchId', batchId),
        beforeTry: assertHeld,
      });
      if (ours.length === 0 || planned === undefined) return { contended };
      return { written: planned, contended };
    },

    async start({ shard, batchId, invoices, staleAfterMs, by }) {
      const now = clock.now();
      const at = new Date(now).toISOString();
      const starting = {
        batchId,
        startId: randomUUID(),
        staleAt: new Date(now + staleAfterMs).toISOString(),
      };
      const dropped = { settled: 0, staleClaim: 0, missing: 0 };
      const calledBefore: CalledBefore[] = [];
      let mayStand = false;
      const starts: ConditionalWrite<ToStart, readonly Invoice[]> = {
        partition: shard,
        items: invoices,
        plan: (items) =>
          items.map((item) =>
            item.earlier === undefined
              ? start(item, starting)
              : startAgain(item.invoiceId, item.earlier, { ...starting, at, by }),
          ),
        reread: (items) => read(shard, items),
        isApplied: (stored) => stored.some((invoice) => isStartedAs(invoice, starting)),
        keep(items, stored) {
          const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
          return items.filter(({ invoiceId, earlier }) => {
            const invoice = byId.get(invoiceId);
            const stands = standing(invoice, batchId);
            if (stands !== 'held') {
              dropped[stands]++;
              return false;
            }
            const called = invoice?.claim && earlierCalls(invoice.claim);
            if (called === undefined || called.attempt === earlier?.attempt) return true;
            calledBefore.push({ invoiceId, earlier: called });
            return false;
          });
        },
        onUnclear() {
          mayStand = true;
        },
        // The request may have gone out twice, by its client or a proxy: refused is then what the first has done.
        async onRefused() {
          mayStand = true;
        },
      };
      try {
        const written = await writeUntilClear(store, starts);
        if (written.kind === 'unclear')
          throw new NoClearAnswer(`batch ${batchId} could not be started`, written.tries, written.cause);
        return { held: written.kind === 'written' ? written.items : [], calledBefore, dropped, starting };
      } catch (error) {
        // It may have been applied. Nobody calls for it, so it must not look as if somebody had.
        if (mayStand) await takeBack({ shard, starting, held: invoices });
        throw error;
      }
    },

    giveBack: takeBack,

    async settle({ shard, batchId, settlementId, items: toSettle, plan }) {
      let lost = 0;
      const written = await writeUntilClear(store, {
        partition: shard,
        items: toSettle,
        plan(items) {
          const { patches, messages } = plan(items);
          // As far as their counters go: the patches apply to no others.
          const before = items.map(({ invoiceId: id, amountMinor, currency }) => {
            return { id, amountMinor, currency, status: 'claimed' as const };
          });
          return [...creationsOf(messages), ...counters.patching(shard, patches, before)];
        },
        onRefused: (operations, codes) => counters.refused(shard, operations, codes),
        reread: (items) => read(shard, items),
        isApplied: (stored) => names(stored, 'settlement', settlementId),
        keep(items, stored) {
          const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
          const held = items.filter(({ invoiceId, start }) => {
            const invoice = byId.get(invoiceId);
            if (invoice === undefined || standing(invoice, batchId) !== 'held') return false;
            return start === undefined || isStartedAs(invoice, start);
          });
          lost += items.length - held.length;
          return held;
        },
      });
      if (written.kind === 'unclear') {
        throw new NoClearAnswer(`batch ${batchId} could not be settled`, written.tries, written.cause);
      }
      if (written.kind === 'nothingLeft') return { settled: [], messages: [], lost };
      return { settled: written.items, messages: plan(written.items).messages, lost };
    },

    change: (request) => changeInvoices(store, request),

    update: (id, request) => updateInvoice({ ...store, shards }, id, request),
  };

  async function takeBack({ shard, starting, held }: Parameters<InvoiceStore['giveBack']>[0]): Promise<void> {
    const write: ConditionalWrite<ToStart, readonly Invoice[]> = {
      partition: shard,
      items: held,
      plan: (items) => items.map(({ invoiceId, earlier }) => giveBack(invoiceId, earlier, starting)),
      reread: (items) => read(shard, items),
      keep(items, stored) {
        const ours = stored.filter((invoice) => isStartedAs(invoice, starting));
        const ids = new Set(ours.map(({ id }) => id));
        return items.filter(({ invoiceId }) => ids.has(invoiceId));
      },
    };
    try {
      // Another delivery may take one after the other meanwhile: each refusal drops what it has taken.
      await writeUntilClear(store, write, { ...patience.brief, tries: held.length + 1 });
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error;
    }
  }

  async function read(shard: string, items: readonly { invoiceId: string }[]): Promise<Invoice[]> {
    const ids = items.map(({ invoiceId }) => invoiceId);
    return readInvoices(await documents.read(shard, ids));
  }
}

function readInvoices(found: readonly unknown[]): Invoice[] {
  return readableDocuments(found, invoiceSchema, 'invoice');
}

/** A transaction is whole: if the timeline of one invoice names it, all of them have been written by it. */
function names(stored: readonly Invoice[], what: 'batchId' | 'settlement', id: string): boolean {
  return stored.some(({ timeline }) => timeline.some((entry) => entry[what] === id));
}

/** False if the lease is lost since the claim was stored: the sweeper sends its order. */
function holds({ assertHeld }: { assertHeld: () => void }): boolean {
  try {
    assertHeld();
    return true;
  } catch {
    return false;
  }
}

/**
 * An invoice store that sends the messages which its writes store. Besides the sweeper nothing else does. A claim waits for the
 * order of its payments, and says if that could not be sent.
 */
export function sendingStore<Store extends Pick<InvoiceStore, 'claim' | 'settle' | 'update'>>(
  invoices: Store,
  sender: Pick<Sender, 'send' | 'sendWhenIdle'>,
): Store {
  return {
    ...invoices,

    async claim(request) {
      const claimed = await invoices.claim(request);
      const messages = claimed.written?.messages ?? [];
      const order = messages.find(({ id }) => id === request.batchId);
      for (const message of messages) if (message !== order) void sender.send(message);
      if (order === undefined || !holds(request)) return claimed;
      const decision = await sender.send(order);
      return decision.kind === 'retry' ? { ...claimed, unsent: decision.error } : claimed;
    },

    async settle(request) {
      const settled = await invoices.settle(request);
      for (const message of settled.messages) sender.sendWhenIdle(message);
      return settled;
    },

    async update(id, request) {
      const updated = await invoices.update(id, request);
      if (updated.kind === 'updated') for (const message of updated.messages) void sender.send(message);
      return updated;
    },
  };
}

/** Invoices in one transaction, which also changes the counters of their shard. */
const mostTogether = maxOperations - 1;
/** Transactions of imports in flight at once, whatever the number of imports: payments go on beside them. */
const concurrentTransactions = 8;
/** Transactions of one import that are in flight or wait for their turn, before it takes more invoices. */
const mostAhead = 16;

/** Stores new invoices, many to a transaction, for all imports of a process; see `InvoiceStore.add`. */
export function addInvoices({ documents, clock, shards, counters }: WriteParts): InvoiceStore['add'] {
  const limit = pLimit(concurrentTransactions);

  return async (contents, { by, withinMs, settled }) => {
    const until = clock.monotonic() + withinMs;
    let failure: { error: unknown } | undefined;
    const filling = new Map<string, InvoiceContent[]>();
    const inFlight = new Set<Promise<void>>();
    try {
      for await (const some of contents) {
        for (const content of some) {
          const shard = shardOf(content.id, shards);
          const part = filling.get(shard) ?? [];
          filling.set(shard, part);
          part.push(content);
          if (part.length < mostTogether) continue;
          filling.delete(shard);
          await store(shard, part);
        }
      }
      for (const [shard, part] of filling) await store(shard, part);
    } finally {
      await Promise.all(inFlight);
    }
    return failure === undefined ? {} : { failure: failure.error };

    async function store(shard: string, part: readonly InvoiceContent[]): Promise<void> {
      while (inFlight.size >= mostAhead) await Promise.race(inFlight);
      const added = limit(() => add(shard, part)).finally(() => inFlight.delete(added));
      inFlight.add(added);
    }

    async function add(shard: string, part: readonly InvoiceContent[]): Promise<void> {
      const at = new Date(clock.now()).toISOString();
      let mayBeOurs = false;
      const open = new Map(part.map((row) => [row.id, row]));
      const settle = (id: string, outcome: AddOutcome) => {
        const row = open.get(id);
        if (row === undefined || !open.delete(id)) return;
        settled(row, outcome);
      };
      try {
        const written = await writeUntilClear(
          { documents, clock },
          {
            partition: shard,
            items: part,
            plan: (rows) =>
              counters.creating(
                shard,
                rows.map((row) => newInvoice(row, { shard, at, by })),
              ),
            onRefused: (operations, codes) => counters.refused(shard, operations, codes),
            // Invoices of these ids, and tombstones of archived ones.
            async reread(rows) {
              const stored = await documents.read(
                shard,
                rows.map(({ id }) => id),
              );
              return stored.flatMap((document) => takenSchema.safeParse(document).data ?? []);
            },
            keep(rows, stored, codes) {
              const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
              return rows.filter((row, index) => {
                const found = byId.get(row.id);
                const taken = codes[index] === refusedBecause.taken;
                if (found === undefined && !taken) return true;
                settle(row.id, found === undefined ? 'idTaken' : outcomeOf(row, found));
                return false;
              });
            },
            beforeTry() {
              if (clock.monotonic() > until)
                throw new Error(`the time for storing was up after ${withinMs / 1000} s`);
            },
            onUnclear: () => {
              mayBeOurs = true;
            },
          },
        );
        if (written.kind === 'written') for (const { id } of written.items) settle(id, 'created');
        if (written.kind === 'unclear') {
          throw new NoClearAnswer(
            `invoices of shard ${shard} could not be stored`,
            written.tries,
            written.cause,
          );
        }
      } catch (error) {
        failure = { error };
        for (const id of open.keys()) settle(id, mayBeOurs ? 'unclear' : 'notStored');
      }

      /** An invoice that was stored at our own time is ours, if an answer of ours was lost. */
      function outcomeOf(row: InvoiceContent, found: Imported | Tombstone): AddOutcome {
        if (found.type === 'tombstone' || found.erased !== undefined) {
          const content = found.type === 'tombstone' ? found.content : importedHash(found);
          return content === contentHash(row) ? 'duplicate' : 'otherContent';
        }
        if (!sameContent(found, row)) return 'otherContent';
        return mayBeOurs && found.createdAt === at ? 'created' : 'duplicate';
      }
    }
  };
}

/** A new invoice, ready to be stored. */
export function newInvoice(
  content: InvoiceContent,
  { shard, at, by }: { shard: string; at: string; by: string },
): NewInvoice {
  return {
    ...content,
    shard,
    type: 'invoice',
    version: formatVersion,
    status: 'pending',
    actionableAt: content.dueAt,
    createdAt: at,
    attempts: 0,
    payment: firstPaymentState,
    terms: searchTerms(content),
    timeline: [{ at, what: 'imported', by }],
  };
}

const takenSchema = z.union([importedSchema, tombstoneSchema]);
