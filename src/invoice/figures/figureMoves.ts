import type { Patch } from '../../documents/documentStore.ts';
import {
  add,
  addAll,
  type Countable,
  type Counts,
  contributionOf,
  countName,
  isDueBefore,
  markOf,
} from './contribution.ts';
import { dayId, type StandingFigures, standingId } from './figureDocument.ts';

/** An invoice before and after a write. Without `before` it is new, and without `after` it leaves the database. */
export interface Change {
  before?: Countable;
  after?: Countable;
}

/** Counts in one patch: Cosmos takes ten operations (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
const mostIncrements = 9;

/**
 * What moves the figures of a shard by these changes; nothing if they change no figure. `figures` may be old: the horizon is a
 * condition of the write, and `countedAt` only rises. Pure.
 */
export function figureMoves(
  { horizon, countedAt = 0 }: Pick<StandingFigures, 'horizon' | 'countedAt'>,
  changes: readonly Change[],
): Patch[] {
  const standing: Counts = new Map();
  const days = new Map<string, Counts>();
  for (const { before, after } of changes) {
    if (before !== undefined) count(before, -1);
    if (after !== undefined) count(after, 1);
  }
  const moved = changes.filter(({ before, after }) => markIn(before) !== markIn(after));
  const waits = changes.some(
    ({ before, after }) => before?.status === 'pending' || after?.status === 'pending',
  );
  const stale = changes.some(({ before }) => before !== undefined && isUncounted(before, countedAt));
  const ofDays = [...days].flatMap(([day, counts]) => {
    const increments = changed(counts);
    return increments.length === 0 ? [] : patchesOf(dayId(day), [[countName.moves, 1], ...increments]);
  });
  const increments = changed(standing);
  if (moved.length === 0 && increments.length === 0 && ofDays.length === 0 && !stale) return [];
  const moves = Math.max(1, moved.length);
  const ofStanding = patchesOf(standingId, [[countName.moves, moves], ...increments]).map((patch, place) =>
    place > 0
      ? patch
      : {
          ...patch,
          ...(waits ? { where: [{ path: 'horizon', is: '=' as const, value: horizon }] } : {}),
          ...(stale ? { set: { stale: true } } : {}),
        },
  );
  return [...ofStanding, ...ofDays];

  function count(invoice: Countable, times: 1 | -1): void {
    const contribution = contributionOf(invoice);
    addAll(standing, contribution.standing, times);
    if (isDueBefore(invoice, horizon)) add(standing, countName.due, times);
    for (const [day, counts] of contribution.days) {
      const sum = days.get(day) ?? new Map();
      days.set(day, sum);
      addAll(sum, counts, times);
    }
  }
}

function markIn(invoice: Countable | undefined): string | undefined {
  return invoice === undefined ? undefined : markOf(invoice);
}

/** How many operations move the figures by some invoices that come or leave: at most as many as this says. */
export function figureRoom() {
  const documents = new Set<string>([standingId]);
  const names = new Set<string>();
  return {
    /** The operations with one invoice more. */
    with(invoice: Countable): number {
      const more = countsOf(invoice);
      const docs = new Set([...documents, ...more.map(({ id }) => id)]);
      const all = new Set([...names, ...more.map(({ id, name }) => `${id} ${name}`)]);
      return docs.size + Math.floor((all.size + docs.size) / mostIncrements);
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

/** Whether a release that does not count has written it since the figures were counted. */
function isUncounted(invoice: Countable, countedAt: number): boolean {
  return invoice.counted !== markOf(invoice) && (invoice._ts ?? -1) >= countedAt;
}

function changed(counts: Counts): [string, number][] {
  return [...counts].filter(([, by]) => by !== 0);
}

function patchesOf(id: string, increments: readonly (readonly [string, number])[]): Patch[] {
  const patches: Patch[] = [];
  for (let from = 0; from < increments.length; from += mostIncrements) {
    const some = increments.slice(from, from + mostIncrements).map(([name, by]) => [`counts.${name}`, by]);
    patches.push({ kind: 'patch', id, increment: Object.fromEntries(some) });
  }
  return patches;
}
