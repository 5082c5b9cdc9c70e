/** Timelines of invoices. A file of its own, since the dashboard is built from it. */

/** Name of the entry that is a person's note; `text` has what they say. */
export const noteEntry = 'note';

/** Name of the entry for a void that was undone. */
export const voidUndone = 'void undone';

/** The entries without notes, which say nothing of the payment. Pure. */
export function stepsOf<Entry extends { what: string }>(timeline: readonly Entry[]): Entry[] {
  return timeline.filter(({ what }) => what !== noteEntry);
}

/** Timeline entries that an invoice keeps: an outage of days must not grow the document without bound. */
export const maxEntries = 100;

/**
 * Upper bound of the latest entries of such a timeline as JSON (bytes); half of it again for earlier notes. A transaction holds
 * 2 MB (https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch), and a claim may rewrite 75 timelines.
 */
const keptBytes = 8 * 1024;

/** Payments on which the last word is kept. */
const mostPayments = 10;

/** Entries by which people decide about an invoice: the latest of them counts. */
export const decisions: ReadonlySet<string> = new Set(['voided', 'retried', voidUndone]);

/**
 * A timeline that has reached its bound, without its middle: the first entry, earlier notes, the latest decision, the last word on
 * each payment, every move to the archive (an erasure finds its copies by them) and the latest entries are kept. Pure.
 */
export function shortened<Entry extends { what: string; paymentId?: unknown; archivedAt?: unknown }>(
  timeline: readonly Entry[],
): Entry[] {
  const latest = latestOf(timeline, 1);
  const earlier = timeline.slice(1, timeline.length - latest.length);
  const notes = latestOf(
    earlier.filter(({ what }) => what === noteEntry),
    0.5,
  );
  const decided = timeline.findLast(({ what }) => decisions.has(what));
  const words = new Map(timeline.map((entry) => [entry.paymentId, entry]));
  words.delete(undefined);
  const kept = new Set<Entry | undefined>([...notes, decided, ...[...words.values()].slice(-mostPayments)]);
  return [
    ...timeline.slice(0, 1),
    ...earlier.filter((entry) => kept.has(entry) || entry.archivedAt !== undefined),
    ...latest,
  ];
}

function latestOf<Entry>(entries: readonly Entry[], share: number): Entry[] {
  const latest = entries.slice((-maxEntries / 2) * share);
  let bytes = 0;
  const first = latest.findLastIndex((entry) => {
    bytes += new TextEncoder().encode(JSON.stringify(entry)).length;
    return bytes > keptBytes * share;
  });
  return latest.slice(first + 1);
}
