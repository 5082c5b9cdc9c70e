import type { Patch } from '../../documents/documentStore.ts';
import { add, type Countable, type Counts, contributionOf, countName, isDueBefore } from './contribution.ts';
import { dayId, type StandingFigures, standingId } from './figureDocument.ts';

/** An invoice before and after a write. Without `before` it is new. One with `archivedAt` counts as archived. */
export interface Change {
  before?: Countable;
  after: Countable;
}

const movesPath = `counts.${countName.moves}`;
/** Counts in one patch: Cosmos takes ten operations (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
const mostIncrements = 9;

/**
 * The patches that move the figures of a shard by these changes; none if they change no figure. The horizon may be old: it is
 * a condition of the write. Pure.
 */
export function figureMoves(
  { horizon }: Pick<StandingFigures, 'horizon'>,
  changes: readonly Change[],
): Patch[] {
  const standing: Counts = new Map();
  const days = new Map<string, Counts>();
  for (const { before, after } of changes) {
    if (before !== undefined) count(before, -1);
    count(after, 1);
  }
  const moved = changes.filter(({ before, after }) => placeOf(before) !== placeOf(after));
  const waits = changes.some(
    ({ before, after }) => before?.status === 'pending' || after.status === 'pending',
  );
  const ofDays = [...days].flatMap(([day, counts]) => {
    const increments = changed(counts);
    return increments.length === 0 ? [] : patchesOf(dayId(day), [[movesPath, 1], ...increments]);
  });
  const increments = changed(standing);
  if (moved.length === 0 && increments.length === 0 && ofDays.length === 0) return [];
  const moves = Math.max(1, moved.length);
  const ofStanding = patchesOf(standingId, [[movesPath, moves], ...increments]).map((patch, place) =>
    place > 0 || !waits
      ? patch
      : { ...patch, where: [{ path: 'horizon', is: '=' as const, value: horizon }] },
  );
  return [...ofStanding, ...ofDays];

  function count(invoice: Countable, times: 1 | -1): void {
    const contribution = contributionOf(invoice);
    const map = invoice.archivedAt === undefined ? 'counts' : 'archived';
    for (const [name, n] of contribution.standing) add(standing, `${map}.${name}`, n * times);
    if (isDueBefore(invoice, horizon)) add(standing, `${map}.${countName.due}`, times);
    for (const [day, counts] of contribution.days) {
      const sum = days.get(day) ?? new Map();
      days.set(day, sum);
      for (const [name, n] of counts) add(sum, `${map}.${name}`, n * times);
    }
  }
}

/** Differs between two states of an invoice that may count as something else, now or at another horizon. */
function placeOf(invoice: Countable | undefined): string | undefined {
  return invoice?.status === 'pending' ? `pending ${invoice.actionableAt}` : invoice?.status;
}

/** Upper bound of the operations that count invoices, or move them from one of the `maps` to another. */
export function figureRoom(maps: 1 | 2) {
  const documents = new Set<string>([standingId]);
  const names = new Set<string>();
  return {
    /** The operations with one invoice more. */
    with(invoice: Countable): number {
      const more = countsOf(invoice);
      const docs = new Set([...documents, ...more.map(({ id }) => id)]);
      const all = new Set([...names, ...more.map(({ id, name }) => `${id} ${name}`)]);
      return docs.size + Math.floor((maps * all.size + docs.size) / mostIncrements);
    },
    add(invoice: Countable): void {
      for (const { id, name } of countsOf(invoice)) {
        documents.add(id);
        names.add(`${id} ${name}`);
      }
    },
  };
}

function countsOf(invoice: Countable): { id: string; name: string }[] {
  const { standing, days } = contributionOf(invoice);
  const all = [
    [standingId, standing] as const,
    ...[...days].map(([day, counts]) => [dayId(day), counts] as const),
  ];
  return all.flatMap(([id, counts]) => [...counts.keys()].map((name) => ({ id, name })));
}

function changed(counts: Counts): [string, number][] {
  return [...counts].filter(([, by]) => by !== 0);
}

function patchesOf(id: string, increments: readonly (readonly [string, number])[]): Patch[] {
  const patches: Patch[] = [];
  for (let from = 0; from < increments.length; from += mostIncrements) {
    patches.push({
      kind: 'patch',
      id,
      increment: Object.fromEntries(increments.slice(from, from + mostIncrements)),
    });
  }
  return patches;
}
