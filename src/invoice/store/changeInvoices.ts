import {
  type DocumentStore,
  NoClearAnswer,
  newWriteId,
  readableDocument,
  readableDocuments,
  writeUntilClear,
} from '@payonce/jobs/documents';
import type { OutboxMessage } from '@payonce/jobs/outbox';
import type { Clock } from '@payonce/leases/clock';
import type { CounterKeeper } from '../counters/counters.ts';
import { type Invoice, invoiceSchema, isInvoice } from '../invoice.ts';
import { creationsOf, type InvoiceChange, ifUnchanged } from '../invoiceChange.ts';
import { shardOf } from '../shard.ts';
import type { ChangedInvoices, ChangeRequest, Updated, UpdateRequest } from './invoiceStore.ts';

interface Parts {
  documents: DocumentStore;
  clock: Clock;
  counters: CounterKeeper;
}

/** Changes one invoice, decided on what is stored; see `InvoiceStore.update`. */
export async function updateInvoice<R>(
  { shards, ...parts }: Parts & { shards: number },
  id: string,
  request: UpdateRequest<R>,
): Promise<Updated<R>> {
  const shard = shardOf(id, shards);
  const { written, refused } = await change(parts, {
    shard,
    ids: [id],
    what: `invoice ${id}`,
    read,
    ...request,
  });
  const [one] = written;
  if (one === undefined)
    return refused.has(id) ? { kind: 'refused', why: refused.get(id) as R } : { kind: 'notFound' };
  const [invoice = one.invoice] = await read([id]);
  return { kind: 'updated', before: one.invoice, invoice, messages: one.messages };

  async function read(ids: readonly string[]): Promise<Invoice[]> {
    const found = await parts.documents.read(shard, ids);
    return found.filter(isInvoice).map((document) => readableDocument(document, invoiceSchema, 'invoice'));
  }
}

/** Changes several invoices of one shard in one transaction, each decided on what is stored; see `InvoiceStore.change`. */
export async function changeInvoices<R>(
  parts: Parts,
  request: ChangeRequest<R>,
): Promise<ChangedInvoices<R>> {
  const { shard } = request;
  const what = `invoices of shard ${shard}`;
  const { written, refused, missing } = await change(parts, { ...request, what, read });
  return { changed: written.map(({ invoice }) => invoice.id), refused, missing };

  async function read(some: readonly string[]): Promise<Invoice[]> {
    return readableDocuments(await parts.documents.read(shard, some), invoiceSchema, 'invoice');
  }
}

async function change<R>(
  { documents, clock, counters }: Parts,
  {
    shard,
    ids,
    what,
    read,
    decide,
    beforeTry,
  }: UpdateRequest<R> & {
    shard: string;
    ids: readonly string[];
    what: string;
    read: (ids: readonly string[]) => Promise<Invoice[]>;
  },
) {
  const refused = new Map<string, R>();
  const found = await read(ids);
  const known = new Set(found.map(({ id }) => id));
  const write = newWriteId();
  const answer = await writeUntilClear(
    { documents, clock },
    {
      partition: shard,
      items: decided(found),
      plan(items) {
        const patches = items.map((item) => ifUnchanged(item.invoice, namedWrite(item.change, write)));
        const before = items.map(({ invoice }) => invoice);
        const messages = items.flatMap((item) => item.messages);
        return [...creationsOf(messages), ...counters.patching(shard, patches, before)];
      },
      onRefused: (operations, codes) => counters.refused(shard, operations, codes),
      reread: (items) => read(items.map(({ invoice }) => invoice.id)),
      // A transaction is whole: one invoice shows it for all.
      isApplied: (stored) => stored.some((invoice) => hasWrite(invoice, write)),
      keep: (_items, stored) => decided(stored),
      ...(beforeTry === undefined ? {} : { beforeTry }),
    },
  );
  if (answer.kind === 'unclear')
    throw new NoClearAnswer(`${what} could not be changed`, answer.tries, answer.cause);
  const written = answer.kind === 'written' ? answer.items : [];
  return { written, refused, missing: ids.filter((id) => !known.has(id)) };

  function decided(
    invoices: readonly Invoice[],
  ): { invoice: Invoice; change: InvoiceChange; messages: readonly OutboxMessage[] }[] {
    return invoices.flatMap((invoice) => {
      const decision = decide(invoice, write);
      if (decision.kind === 'change') return [{ messages: [], ...decision, invoice }];
      refused.set(invoice.id, decision.why);
      return [];
    });
  }
}

/** The change, with the name of the write that applies it: if the answer is lost, the timeline shows that it was applied. */
function namedWrite(change: InvoiceChange, write: string): InvoiceChange {
  return { ...change, entry: { ...change.entry, write } };
}

function hasWrite({ timeline }: Pick<Invoice, 'timeline'>, write: string): boolean {
  return timeline.some((entry) => entry.write === write);
}
