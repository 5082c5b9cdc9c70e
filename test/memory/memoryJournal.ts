import type { Journal, JournalLine } from '../../src/ops/auditTrail.ts';

/** A journal in memory; while it is `away`, it takes no line. */
export function memoryJournal() {
  const kept = { lines: [] as JournalLine[], away: false };
  const append: Journal['append'] = async (lines) => {
    if (kept.away) throw new Error('the journal is away');
    kept.lines.push(...lines);
  };
  return Object.assign(kept, { append });
}
