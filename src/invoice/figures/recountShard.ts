import { z } from 'zod';
import type { DocumentStore, Operation } from '../../documents/documentStore.ts';
import { isNewer, NewerVersion } from '../../documents/storedDocuments.ts';
import { invoiceSchema } from '../invoice.ts';
import { add, addAll, type Counts, contributionOf, countName, isDueBefore } from './contribution.ts';
import {
  dayFiguresSchema,
  dayId,
  newDay,
  newStanding,
  standingId,
  standingSchema,
} from './figureDocument.ts';
import type { FigureReads } from './figureReads.ts';
import { standingOf } from './storedFigures.ts';
import { writeOnce } from './writeOnce.ts';

/** A count that a recount has put right. */
export interface Correction {
  shard: string;
  /** `YYYY-MM-DD`; absent if it is no figure of a day. */
  day?: string;
  figure: string;
  was: number;
  is: number;
}

export type Recounted =
  | { kind: 'recounted'; invoices: number; corrections: Correction[] }
  /** Invoices of this shard were changed meanwhile: to be tried again. */
  | { kind: 'busy' };

/** No total can be relied on that leaves it out. */
export class UnreadableInvoice extends Error {
  override readonly name = 'UnreadableInvoice';

  constructor(invoice: string, options: ErrorOptions) {
    super(`invoice ${invoice} cannot be read, so the totals would lack it`, options);
  }
}

const { shape } = invoiceSchema;
const countableSchema = z.object({
  id: shape.id,
  currency: shape.currency,
  amountMinor: z.int(),
  status: shape.status,
  actionableAt: shape.actionableAt,
  payment: shape.payment,
  declinedAt: shape.declinedAt,
  reversals: shape.reversals,
});

/**
 * Counts the invoices of a shard, and puts its figures right. Nothing is held up meanwhile: each document is written only if
 * no invoice has moved it since before the count began.
 *
 * @throws {NewerVersion} {UnreadableInvoice} {StoreAway}
 */
export async function recountShard(
  { documents, reads, now }: { documents: DocumentStore; reads: FigureReads; now: () => number },
  shard: string,
): Promise<Recounted> {
  const replaced = await replaceUnreadable({ documents, reads, now }, shard);
  if (replaced === undefined) return { kind: 'busy' };
  const before = await standingOf(documents, shard, now());
  const days = new Map(
    (await reads.days({ shard })).map((document) => {
      const figures = dayFiguresSchema.parse(document);
      return [figures.day, figures];
    }),
  );
  const standing: Counts = new Map();
  const moved = new Map<string, Counts>();
  let invoices = 0;
  for await (const page of reads.all(shard)) {
    for (const document of page) {
      count(document);
      invoices++;
    }
  }
  const corrections = [...replaced];
  for (const day of new Set([...days.keys(), ...moved.keys()])) {
    const stored = days.get(day);
    const wrong = differences(stored?.counts ?? {}, moved.get(day) ?? new Map());
    if (wrong.length === 0) continue;
    const counts = Object.fromEntries(moved.get(day) ?? []);
    const operation: Operation =
      stored === undefined
        ? { kind: 'create', document: newDay(shard, day, counts) }
        : { kind: 'patch', id: dayId(day), version: stored._etag, set: { counts } };
    if (!(await writeOnce(documents, shard, operation))) return { kind: 'busy' };
    corrections.push(...wrong.map((one) => ({ shard, day, ...one })));
  }
  const counts = Object.fromEntries(standing);
  const wrong = differences(before.counts, standing);
  const operation: Operation = { kind: 'patch', id: standingId, version: before._etag, set: { counts } };
  if (!(await writeOnce(documents, shard, operation))) return { kind: 'busy' };
  corrections.push(...wrong.map((one) => ({ shard, ...one })));
  return { kind: 'recounted', invoices, corrections };

  function count(document: unknown): void {
    const { data: invoice, error } = countableSchema.safeParse(document);
    if (invoice === undefined) {
      const id = z.object({ id: z.string() }).safeParse(document).data?.id;
      if (isNewer(document)) throw new NewerVersion(`invoice "${id}"`);
      throw new UnreadableInvoice(JSON.stringify(id ?? ''), { cause: error });
    }
    const contribution = contributionOf(invoice);
    addAll(standing, contribution.standing);
    if (isDueBefore(invoice, before.horizon)) add(standing, countName.due, 1);
    for (const [day, counts] of contribution.days) {
      const sum = moved.get(day) ?? new Map();
      moved.set(day, sum);
      addAll(sum, counts);
    }
  }
}

const placeSchema = z.object({ id: z.string(), _etag: z.string() });

/**
 * Begins documents of the figures anew that cannot be read: somebody has edited them, or stored something else under their
 * ids. Undefined if one was changed meanwhile. @throws {NewerVersion} {StoreAway}
 */
async function replaceUnreadable(
  { documents, reads, now }: { documents: DocumentStore; reads: FigureReads; now: () => number },
  shard: string,
): Promise<Correction[] | undefined> {
  const replaced: Correction[] = [];
  for (const stored of [...(await documents.read(shard, [standingId])), ...(await reads.days({ shard }))]) {
    const { id, _etag: version } = placeSchema.parse(stored);
    const isStanding = id === standingId;
    if ((isStanding ? standingSchema : dayFiguresSchema).safeParse(stored).success) continue;
    if (isNewer(stored)) throw new NewerVersion(`document "${id}"`);
    const document = isStanding ? newStanding(shard, now()) : newDay(shard, id.slice(dayId('').length));
    if (!(await writeOnce(documents, shard, { kind: 'replace', document, version }))) return undefined;
    replaced.push({ shard, figure: `unreadable document ${id}`, was: 1, is: 0 });
  }
  return replaced;
}

/** The counts that are not what they should be. That of the moves is none: it only rises. */
function differences(
  stored: Readonly<Record<string, number>>,
  counted: ReadonlyMap<string, number>,
): { figure: string; was: number; is: number }[] {
  const names = new Set([...Object.keys(stored), ...counted.keys()]);
  names.delete(countName.moves);
  return [...names].toSorted().flatMap((figure) => {
    const [was, is] = [stored[figure] ?? 0, counted.get(figure) ?? 0];
    return was === is ? [] : [{ figure, was, is }];
  });
}
