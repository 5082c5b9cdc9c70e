/**
 * What the archived invoices of a shard add up to. Reports and the summary count them without reading the archive. One
 * document has what the summary shows, and one for each month has what the report shows of its days. They are written in the
 * transaction that moves the invoices, so they are exact.
 */
import { z } from 'zod';
import { readableDocument } from '../documents/storedDocuments.ts';
import { systemId } from '../documents/systemId.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { type Movement, movementsOf, type Occasion } from '../invoice/store/movements.ts';

/** How many, and their sum in minor units as text: it may be above what a double holds exactly. */
const sumSchema = z.tuple([z.int(), z.string().regex(/^-?\d+$/)]);
export type Sum = z.infer<typeof sumSchema>;

export const sumsSchema = z.object({
  id: z.string(),
  type: z.literal('archivedSums'),
  sums: z.record(z.string(), sumSchema),
  _etag: z.string(),
});
export type SumsDocument = z.infer<typeof sumsSchema>;

export const totalsId = systemId('archived:totals');
/** The document of a month, `YYYY-MM`. */
export const monthId = (month: string) => systemId(`archived:${month}`);

/** One thing that an invoice adds: to which document, under which name. */
interface Part {
  id: string;
  name: string;
  amountMinor: number;
}

const always = { from: '', to: '~' };

/** What an invoice adds to the sums. Pure. */
export function partsOf(invoice: Invoice): Part[] {
  const { status, currency, payment, reversals } = invoice;
  const total = (name: string, amountMinor = 0) => ({ id: totalsId, name, amountMinor });
  const refunded = reversals?.refundedMinor ?? 0;
  return [
    total(`status ${status}`),
    ...(payment.id === undefined ? [] : [total('charges')]),
    ...(refunded > 0 ? [total(`refunded ${currency}`, refunded)] : []),
    ...movementsIn(invoice).map(({ kind, at, amountMinor, currency: its }) => ({
      id: monthId(at.slice(0, 7)),
      name: `${at.slice(0, 10)} ${its} ${kind}`,
      amountMinor: Number(amountMinor),
    })),
  ];
}

function movementsIn(invoice: Invoice): Movement[] {
  const { status, payment, declinedAt, reversals } = invoice;
  const occasions: Occasion[] = [
    ...(payment.paidAt === undefined ? [] : ['paid' as const]),
    ...(status === 'declined' && declinedAt !== undefined ? ['declined' as const] : []),
    ...(reversals === undefined ? [] : ['reversed' as const]),
  ];
  return occasions.flatMap((occasion) => movementsOf(occasion, [invoice], always));
}

/** The documents that these invoices count in. Pure. */
export function sumsIdsOf(invoices: readonly Invoice[]): string[] {
  return [...new Set(invoices.flatMap((invoice) => partsOf(invoice).map(({ id }) => id)))];
}

/** The sums with these invoices added, or taken away, by document. Those that are not stored yet begin at nothing. Pure. */
export function withInvoices(
  stored: readonly SumsDocument[],
  invoices: readonly Invoice[],
  direction: 1 | -1,
): Map<string, Record<string, Sum>> {
  const before = new Map(stored.map(({ id, sums }) => [id, sums]));
  const after = new Map<string, Record<string, Sum>>();
  for (const { id, name, amountMinor } of invoices.flatMap(partsOf)) {
    const sums = after.get(id) ?? { ...before.get(id) };
    after.set(id, sums);
    const [count, minor] = sums[name] ?? [0, '0'];
    sums[name] = [count + direction, `${BigInt(minor) + BigInt(direction * amountMinor)}`];
    if (count + direction === 0) delete sums[name];
  }
  return after;
}

/** The documents of sums among those that were read. @throws {NewerVersion} if one is of a newer release */
export function readSums(documents: readonly unknown[], ids: readonly string[]): SumsDocument[] {
  return documents
    .filter((document) => ids.includes(idOf(document)))
    .map((document) => readableDocument(document, sumsSchema, 'archivedSums'));
}

function idOf(document: unknown): string {
  return z.object({ id: z.string() }).safeParse(document).data?.id ?? '';
}

/** How many invoices are in the archive, by the documents of totals. Pure. @throws {NewerVersion} */
export function archivedIn(totals: readonly unknown[]): number {
  return readSums(totals, [totalsId])
    .flatMap(({ sums }) => Object.entries(sums))
    .reduce((count, [name, [n]]) => (name.startsWith('status ') ? count + n : count), 0);
}
