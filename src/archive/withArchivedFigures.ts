import type { InvoiceFigures, InvoiceStore, ReversedFigure } from '../invoice/store/invoiceStore.ts';
import { type Movement, type MovementQuery, movementKinds } from '../invoice/store/movements.ts';
import { monthId, readSums, type Sum, totalsId } from './archivedSums.ts';
import type { ArchiveStore } from './archiveStore.ts';

/** Part of a day of which invoices have moved: the archive adds up whole days only. */
export class PartOfArchivedDay extends Error {
  override readonly name = 'PartOfArchivedDay';
  readonly day: string;

  constructor(day: string) {
    super(`invoices of ${day} have moved to the archive, which counts by whole days (UTC)`);
    this.day = day;
  }
}

/** The same store, whose figures and movements include those of archived invoices. */
export function withArchivedFigures<Store extends Pick<InvoiceStore, 'figures' | 'movements' | 'dayFigures'>>(
  invoices: Store,
  archive: Pick<ArchiveStore, 'sums'>,
): Store {
  return {
    ...invoices,
    async figures(now) {
      const [figures, archived] = await Promise.all([invoices.figures(now), sums(totalsId, totalsId)]);
      return together(figures, archived);
    },
    async dayFigures({ from, to }) {
      const figures = await invoices.dayFigures({ from, to });
      if (figures === undefined) return undefined;
      const archived = await sums(monthId(from.slice(0, 7)), monthId(to.slice(0, 7)));
      const whole = { from: `${from}T00:00:00.000Z`, to: `${to}T23:59:59.999Z~` };
      return [
        ...figures,
        ...archivedMovements(archived, whole).map(({ at, count = 1, ...one }) => ({
          ...one,
          day: at.slice(0, 10),
          count,
        })),
      ];
    },
    async *movements(query) {
      // Of what moves in between, the invoices are counted twice rather than not at all.
      yield* invoices.movements(query);
      yield archivedMovements(
        await sums(monthId(query.from.slice(0, 7)), monthId(query.to.slice(0, 7))),
        query,
      );
    },
  };

  async function sums(first: string, last: string): Promise<[name: string, sum: Sum][]> {
    const documents = await archive.sums(first, last);
    const ids = documents.map((document) => (document as { id: string }).id);
    return readSums(documents, ids).flatMap((one) => Object.entries(one.sums));
  }
}

function together(figures: InvoiceFigures, archived: readonly [string, Sum][]): InvoiceFigures {
  const byStatus = new Map(figures.byStatus);
  let { charges } = figures;
  const refunded = new Map(figures.refunded.map((one) => [one.currency, one]));
  for (const [name, [count, minor]] of archived) {
    const [kind, of = ''] = name.split(' ');
    if (kind === 'status') byStatus.set(of, (byStatus.get(of) ?? 0) + count);
    if (kind === 'charges') charges += count;
    if (kind === 'refunded')
      refunded.set(of, plus(refunded.get(of), { currency: of, count, amountMinor: Number(minor) }));
  }
  const inOrder = [...refunded.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
  return { ...figures, byStatus, charges, refunded: inOrder };
}

function plus(one: ReversedFigure | undefined, other: ReversedFigure): ReversedFigure {
  if (one === undefined) return other;
  return { ...one, count: one.count + other.count, amountMinor: one.amountMinor + other.amountMinor };
}

/** @throws {PartOfArchivedDay} */
function archivedMovements(
  sums: readonly [string, Sum][],
  { from, to, currency }: MovementQuery,
): Movement[] {
  return sums.flatMap(([name, [count, minor]]): Movement[] => {
    const [day = '', of = '', kind] = name.split(' ');
    const [begins, ends] = [`${day}T00:00:00.000Z`, `${day}T23:59:59.999Z`];
    if (ends < from || begins >= to || (currency !== undefined && of !== currency)) return [];
    if (begins < from || ends >= to) throw new PartOfArchivedDay(day);
    const known = movementKinds.find((one) => one === kind);
    return known === undefined
      ? []
      : [{ kind: known, at: begins, currency: of, count, amountMinor: BigInt(minor) }];
  });
}
