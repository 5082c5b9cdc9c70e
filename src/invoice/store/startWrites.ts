import { randomUUID } from 'node:crypto';
import type { DocumentStore } from '../../documents/documentStore.ts';
import { NoClearAnswer, StoreAway } from '../../documents/storeAway.ts';
import { readableDocuments } from '../../documents/storedDocuments.ts';
import { type ConditionalWrite, patience, writeUntilClear } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import {
  type CalledBefore,
  earlierCalls,
  giveBack,
  isStartedAs,
  start,
  startAgain,
  type ToStart,
} from '../callStart.ts';
import { type Invoice, invoiceSchema } from '../invoice.ts';
import { standing } from '../invoiceChange.ts';
import type { InvoiceStore } from './invoiceStore.ts';

/** The writes at the beginning of the calls of a batch. */
export function startWrites(store: {
  documents: DocumentStore;
  clock: Clock;
}): Pick<InvoiceStore, 'start' | 'giveBack'> {
  return {
    async start({ shard, batchId, invoices, staleAfterMs, by }) {
      const now = store.clock.now();
      const at = new Date(now).toISOString();
      const staleAt = new Date(now + staleAfterMs).toISOString();
      const starting = { batchId, startId: randomUUID(), staleAt };
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
        isApplied: (stored) => stored.some(({ claim }) => claim?.startedBy === starting.startId),
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
        // The request may have gone out twice, on its way or by its client: refused is then what the first has done.
        async onRefused() {
          mayStand = true;
        },
      };
      let held: readonly ToStart[];
      try {
        held = await written(batchId, starts);
      } catch (error) {
        // It may have been applied. Nobody calls for it, so it must not look as if somebody had.
        if (mayStand) await takeBack({ shard, starting, held: invoices });
        throw error;
      }
      return { held, calledBefore, dropped, starting };
    },

    giveBack: takeBack,
  };

  async function written(
    batchId: string,
    starts: ConditionalWrite<ToStart, readonly Invoice[]>,
  ): Promise<readonly ToStart[]> {
    const answer = await writeUntilClear(store, starts);
    if (answer.kind === 'unclear')
      throw new NoClearAnswer(`batch ${batchId} could not be started`, answer.tries, answer.cause);
    return answer.kind === 'written' ? answer.items : [];
  }

  async function takeBack({ shard, starting, held }: Parameters<InvoiceStore['giveBack']>[0]): Promise<void> {
    const write = {
      partition: shard,
      items: held,
      plan: (items: readonly ToStart[]) =>
        items.map(({ invoiceId, earlier }) => giveBack(invoiceId, earlier, starting)),
      reread: (items: readonly ToStart[]) => read(shard, items),
      keep(items: readonly ToStart[], stored: readonly Invoice[]) {
        const ours = stored.filter((invoice) => isStartedAs(invoice, starting));
        const ids = new Set(ours.map(({ id }) => id));
        return items.filter(({ invoiceId }) => ids.has(invoiceId));
      },
    };
    try {
      await writeUntilClear(store, write, patience.brief);
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error;
    }
  }

  async function read(shard: string, items: readonly ToStart[]): Promise<Invoice[]> {
    const ids = items.map(({ invoiceId }) => invoiceId);
    return readableDocuments(await store.documents.read(shard, ids), invoiceSchema, 'invoice');
  }
}
