/** Timelines of invoices. A file of its own, since the dashboard is built from it. */

/** Name of the entry that is a person's note; `text` has what they say. */
export const noteEntry = 'note';

/** Name of the entry for a void that was undone. */
export const voidUndone = 'void undone';

/** The entries without notes, which say nothing of the payment. Pure. */
export function stepsOf<Entry extends { what: string }>(timeline: readonly Entry[]): Entry[] {
  return timeline.filter(({ what }) => what !== noteEntry);
}
