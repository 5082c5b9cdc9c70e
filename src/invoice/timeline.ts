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

/** A timeline that has reached its bound, without its middle: the first entry, earlier notes and the latest are kept. Pure. */
export function shortened<Entry extends { what: string }>(timeline: readonly Entry[]): Entry[] {
  const latest = latestOf(timeline, 1);
  const notes = timeline.slice(1, timeline.length - latest.length).filter(({ what }) => what === noteEntry);
  return [...timeline.slice(0, 1), ...latestOf(notes, 0.5), ...latest];
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
