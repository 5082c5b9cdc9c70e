import pLimit, { type LimitFunction } from 'p-limit';
import { z } from 'zod';
import {
  type DocumentStore,
  maxOperations,
  NoClearAnswer,
  refusedBecause,
} from '../../documents/documentStore.ts';
import { writeUntilClear } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CounterKeeper } from '../figures/counters.ts';
import { type Imported, type InvoiceContent, importedSchema, newInvoice } from '../invoice.ts';
import { shardOf } from '../shard.ts';
import { contentHash, importedHash, sameContent, type Tombstone, tombstoneSchema } from '../tombstone.ts';
import type { Added, AddOptions, AddOutcome, InvoiceStore } from './invoiceStore.ts';

/** Invoices in one transaction, which also moves the figures of their shard. */
const mostTogether = maxOperations - 1;
/** Transactions of imports under way at once, whatever the number of imports: payments go on beside them. */
const concurrentTransactions = 8;
/** Transactions of one import that are under way or wait for their turn, before it takes more invoices. */
const mostAhead = 16;

/** Stores new invoices, many to a transaction, for all imports of a process; see `InvoiceStore.add`. */
export function addInvoices(parts: {
  documents: DocumentStore;
  clock: Clock;
  shards: number;
  figures: CounterKeeper;
}): InvoiceStore['add'] {
  const limit = pLimit(concurrentTransactions);
  return (contents, options) => addOfOneImport({ ...parts, limit }, contents, options);
}

async function addOfOneImport(
  {
    documents,
    clock,
    shards,
    figures,
    limit,
  }: {
    documents: DocumentStore;
    clock: Clock;
    shards: number;
    figures: CounterKeeper;
    limit: LimitFunction;
  },
  contents: Parameters<InvoiceStore['add']>[0],
  { by, withinMs, settled }: AddOptions,
): Promise<Added> {
  const until = clock.monotonic() + withinMs;
  let failure: { error: unknown } | undefined;
  const filling = new Map<string, InvoiceContent[]>();
  const underWay = new Set<Promise<void>>();
  try {
    for await (const some of contents) {
      for (const content of some) {
        const full = filled(content);
        if (full !== undefined) await store(full.shard, full.part);
      }
    }
    for (const [shard, part] of filling) await store(shard, part);
  } finally {
    await Promise.all(underWay);
  }
  return failure === undefined ? {} : { failure: failure.error };

  /** The invoices of a transaction, once there are as many as it takes. */
  function filled(content: InvoiceContent): { shard: string; part: InvoiceContent[] } | undefined {
    const shard = shardOf(content.id, shards);
    const part = filling.get(shard) ?? [];
    filling.set(shard, part);
    part.push(content);
    if (part.length < mostTogether) return undefined;
    filling.delete(shard);
    return { shard, part };
  }

  async function store(shard: string, part: readonly InvoiceContent[]): Promise<void> {
    while (underWay.size >= mostAhead) await Promise.race(underWay);
    const added = limit(() => add(shard, part)).finally(() => underWay.delete(added));
    underWay.add(added);
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
            figures.creating(
              shard,
              rows.map((row) => newInvoice(row, { shard, at, by })),
            ),
          onRefused: (operations, codes) => figures.refused(shard, operations, codes),
          reread: (rows) => readTaken(shard, rows),
          keep(rows, stored, codes) {
            const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
            return rows.filter((row, index) => {
              const found = byId.get(row.id);
              const outcome = found === undefined ? whyRefused(codes[index]) : outcomeOf(row, found);
              if (outcome !== undefined) settle(row.id, outcome);
              return outcome === undefined;
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

  /** Stored invoices of these ids, and tombstones of archived ones. */
  async function readTaken(shard: string, rows: readonly InvoiceContent[]) {
    const ids = rows.map(({ id }) => id);
    const stored = await documents.read(shard, ids);
    return stored.flatMap((document) => takenSchema.safeParse(document).data ?? []);
  }
}

const takenSchema = z.union([importedSchema, tombstoneSchema]);

function whyRefused(code: number | undefined): AddOutcome | undefined {
  return code === refusedBecause.taken ? 'idTaken' : undefined;
}
