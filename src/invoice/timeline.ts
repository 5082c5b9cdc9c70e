import type { PatchOperation } from '@azure/cosmos';
import type { Invoice, TimelineEntry } from './invoice.ts';

/** So many entries stay in an invoice; a provider that is away for days must not grow the document without end. */
const maxEntries = 100;

/** The patch operation that adds an entry to an invoice's timeline; past the limit it keeps the first and the latest. */
export function appendToTimeline(
  { timeline }: Pick<Invoice, 'timeline'>,
  entry: TimelineEntry,
): PatchOperation {
  if (timeline.length < maxEntries) return { op: 'add', path: '/timeline/-', value: entry };
  return {
    op: 'set',
    path: '/timeline',
    value: [...timeline.slice(0, 1), ...timeline.slice(-maxEntries / 2), entry],
  };
}
