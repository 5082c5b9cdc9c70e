import type { DocumentStore } from '../../documents/documentStore.ts';
import { NoClearAnswer } from '../../documents/storeAway.ts';
import { readableDocument } from '../../documents/storedDocuments.ts';
import { newWriteId } from '../../documents/systemId.ts';
import { writeUntilClear } from '../../documents/writeUntilClear.ts';
import type { Clock } from '../../platform/clock.ts';
import type { FigureKeeper } from '../figures/figureKeeper.ts';
import { type Invoice, invoiceSchema, isInvoice } from '../invoice.ts';
import { creationsOf, hasWrite, ifUnchanged, namedWrite } from '../invoiceChange.ts';
import { shardOf } from '../shard.ts';
import type { Updated, UpdateRequest } from './invoiceStore.ts';

/** Changes one invoice, decided on what is stored; see `InvoiceStore.update`. */
export async function updateInvoice<R>(
  {
    documents,
    clock,
    shards,
    figures,
  }: { documents: DocumentStore; clock: Clock; shards: number; figures: FigureKeeper },
  id: string,
  { decide, beforeTry }: UpdateRequest<R>,
): Promise<Updated<R>> {
  const shard = shardOf(id, shards);
  const stored = await read();
  if (stored === undefined) return { kind: 'notFound' };
  const write = newWriteId();
  const first = decide(stored, write);
  if (first.kind === 'refuse') return { kind: 'refused', why: first.why };
  let otherwise: Updated<R> = { kind: 'notFound' };
  await figures.prepare(shard);
  const written = await writeUntilClear(
    { documents, clock },
    {
      partition: shard,
      items: [{ invoice: stored, decided: first }],
      plan: (items) =>
        items.flatMap(({ invoice, decided: { change, messages = [] } }) => [
          ...creationsOf(messages),
          ...figures.patching(shard, [ifUnchanged(invoice, namedWrite(change, write))], [invoice]),
        ]),
      onRefused: (operations, codes) => figures.refused(shard, operations, codes),
      reread: read,
      isApplied: (invoice) => invoice !== undefined && hasWrite(invoice, write),
      keep(_items, invoice) {
        if (invoice === undefined) return [];
        const decided = decide(invoice, write);
        if (decided.kind === 'change') return [{ invoice, decided }];
        otherwise = { kind: 'refused', why: decided.why };
        return [];
      },
      ...(beforeTry === undefined ? {} : { beforeTry }),
    },
  );
  switch (written.kind) {
    case 'unclear':
      throw new NoClearAnswer(`invoice ${id} could not be changed`, written.tries, written.cause);
    case 'nothingLeft':
      return otherwise;
    case 'written': {
      const [
        {
          invoice: before,
          decided: { messages = [] },
        } = { invoice: stored, decided: first },
      ] = written.items;
      return { kind: 'updated', before, invoice: (await read()) ?? before, messages };
    }
  }

  async function read(): Promise<Invoice | undefined> {
    const [document] = await documents.read(shard, [id]);
    return isInvoice(document) ? readableDocument(document, invoiceSchema, 'invoice') : undefined;
  }
}
