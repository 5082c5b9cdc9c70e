import type { DocumentStore } from '../../documents/documentStore.ts';
import { NoClearAnswer } from '../../documents/storeAway.ts';
import { readableDocuments } from '../../documents/storedDocuments.ts';
import { writeUntilClear } from '../../documents/writeUntilClear.ts';
import { claimDocuments } from '../../locking/fence.ts';
import { type OutboxMessage, outboxMessageSchema } from '../../outbox/outboxMessage.ts';
import type { Clock } from '../../platform/clock.ts';
import { isStartedAs } from '../callStart.ts';
import type { Countable } from '../figures/contribution.ts';
import type { FigureKeeper } from '../figures/figureKeeper.ts';
import { type Invoice, invoiceSchema } from '../invoice.ts';
import { creationsOf, standing } from '../invoiceChange.ts';
import { changeInvoices } from './changeInvoices.ts';
import type { InvoiceStore } from './invoiceStore.ts';
import { startWrites } from './startWrites.ts';
import { updateInvoice } from './updateInvoice.ts';

/** The writes of an invoice store, on whatever keeps the documents: each says what the write loop has to know of it. */
export function invoiceWrites({
  documents,
  clock,
  shards,
  figures,
}: {
  documents: DocumentStore;
  clock: Clock;
  shards: number;
  figures: FigureKeeper;
}): Pick<InvoiceStore, 'claim' | 'start' | 'giveBack' | 'settle' | 'update' | 'change'> {
  const store = { documents, clock, figures };

  return {
    async claim({ shard, batchId, invoices, fence, plan, assertHeld }) {
      let planned: ReturnType<typeof plan> | undefined;
      await figures.prepare(shard);
      const {
        claimed: ours,
        found,
        contended,
      } = await claimDocuments(store, {
        partition: shard,
        items: invoices,
        fence,
        plan(items) {
          planned = plan(items, clock.now());
          const { patches, messages } = planned;
          return [...creationsOf(messages), ...figures.patching(shard, patches, items)];
        },
        onRefused: (operations, codes) => figures.refused(shard, operations, codes),
        tally: () => planned?.tally,
        parse: readInvoices,
        isApplied: (stored) => names(stored, 'batchId', batchId),
        beforeTry: assertHeld,
      });
      if (ours.length === 0 || planned === undefined) return { contended };
      // An earlier try may have been the one that was applied, a little earlier: what is stored is what counts.
      const messages = found ? await readMessages(shard, idsOf(planned.messages)) : planned.messages;
      return { written: { plan: planned, messages }, contended };
    },

    ...startWrites(store),

    async settle({ shard, batchId, settlementId, items: toSettle, plan }) {
      let lost = 0;
      await figures.prepare(shard);
      const written = await writeUntilClear(store, {
        partition: shard,
        items: toSettle,
        plan(items) {
          const { patches, messages } = plan(items);
          return [...creationsOf(messages), ...figures.patching(shard, patches, items.map(claimed))];
        },
        onRefused: (operations, codes) => figures.refused(shard, operations, codes),
        reread: (items) => read(shard, idsOf(items)),
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

  async function read(shard: string, ids: readonly string[]): Promise<Invoice[]> {
    return readInvoices(await documents.read(shard, ids));
  }

  async function readMessages(shard: string, ids: readonly string[]): Promise<OutboxMessage[]> {
    return readableDocuments(await documents.read(shard, ids), outboxMessageSchema, 'outboxMessage');
  }
}

/** An invoice that a batch has claimed, as far as its figures go: its patch holds for no other. */
function claimed({
  invoiceId: id,
  amountMinor,
  currency,
}: { invoiceId: string } & Pick<Countable, 'amountMinor' | 'currency'>): Countable {
  return { id, amountMinor, currency, status: 'claimed' };
}

function readInvoices(found: readonly unknown[]): Invoice[] {
  return readableDocuments(found, invoiceSchema, 'invoice');
}

/** A transaction is whole: if the timeline of one invoice names it, all of them have been written by it. */
function names(stored: readonly Invoice[], what: 'batchId' | 'settlement', id: string): boolean {
  return stored.some(({ timeline }) => timeline.some((entry) => entry[what] === id));
}

function idsOf(items: readonly ({ id: string } | { invoiceId: string })[]): string[] {
  return items.map((item) => ('id' in item ? item.id : item.invoiceId));
}
