import pLimit from 'p-limit';
import {
  type Create,
  type DocumentStore,
  maxOperations,
  refusedBecause,
} from '../../documents/documentStore.ts';
import { NoClearAnswer } from '../../documents/storeAway.ts';
import { writeUntilClear } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Imported, type InvoiceContent, importedSchema, newInvoice } from '../invoice.ts';
import { sameContent } from '../sameContent.ts';
import { shardOf } from '../shard.ts';
import type { Added, AddOutcome } from './invoiceStore.ts';

const concurrentTransactions = 8;

/** Stores new invoices, many to a transaction; see `InvoiceStore.add`. */
export async function addInvoices(
  { documents, clock, shards }: { documents: DocumentStore; clock: Clock; shards: number },
  contents: readonly InvoiceContent[],
  { by, withinMs }: { by: string; withinMs: number },
): Promise<Added> {
  const until = clock.monotonic() + withinMs;
  const outcomes = new Map<string, AddOutcome>();
  let failure: { error: unknown } | undefined;
  const limit = pLimit(concurrentTransactions);
  const parts = [...Map.groupBy(contents, ({ id }) => shardOf(id, shards))].flatMap(([shard, all]) =>
    chunks(all, maxOperations).map((part) => ({ shard, part })),
  );
  await Promise.all(parts.map(({ shard, part }) => limit(() => add(shard, part))));
  return { outcomes, ...(failure === undefined ? {} : { failure: failure.error }) };

  async function add(shard: string, part: readonly InvoiceContent[]): Promise<void> {
    const at = new Date(clock.now()).toISOString();
    let mayBeOurs = false;
    try {
      const written = await writeUntilClear(
        { documents, clock },
        {
          partition: shard,
          items: part,
          plan: (rows) => rows.map((row) => create(row, { shard, at, by })),
          reread: (rows) => readImported(shard, rows),
          keep(rows, stored, codes) {
            const byId = new Map(stored.map((invoice) => [invoice.id, invoice]));
            return rows.filter((row, index) => {
              const found = byId.get(row.id);
              const outcome = found === undefined ? whyRefused(codes[index]) : outcomeOf(row, found);
              if (outcome !== undefined) outcomes.set(row.id, outcome);
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
      if (written.kind === 'written') for (const { id } of written.items) outcomes.set(id, 'created');
      if (written.kind === 'unclear') {
        throw new NoClearAnswer(
          `invoices of shard ${shard} could not be stored`,
          written.tries,
          written.cause,
        );
      }
    } catch (error) {
      failure = { error };
      for (const { id } of part) if (!outcomes.has(id)) outcomes.set(id, mayBeOurs ? 'unclear' : 'notStored');
    }

    /** An invoice that was stored at our own time is ours, if an answer of ours was lost. */
    function outcomeOf(row: InvoiceContent, found: Imported): AddOutcome {
      if (!sameContent(found, row)) return 'otherContent';
      return mayBeOurs && found.createdAt === at ? 'created' : 'duplicate';
    }
  }

  async function readImported(shard: string, rows: readonly InvoiceContent[]): Promise<Imported[]> {
    const ids = rows.map(({ id }) => id);
    const stored = await documents.read(shard, ids);
    return stored.flatMap((document) => importedSchema.safeParse(document).data ?? []);
  }
}

function whyRefused(code: number | undefined): AddOutcome | undefined {
  return code === refusedBecause.taken ? 'idTaken' : undefined;
}

function create(content: InvoiceContent, birth: { shard: string; at: string; by: string }): Create {
  return { kind: 'create', document: newInvoice(content, birth) };
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));
}
