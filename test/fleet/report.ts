import { addUp } from '../../local/start/figures.ts';
import type { Evidence } from '../support/audit.ts';
import type { Mishap } from './schedule.ts';

/** The figures of a run, one per line. Pure. */
export function figuresOf({
  evidence,
  mishaps,
  drained,
}: {
  evidence: Evidence;
  mishaps: readonly Mishap[];
  /** Milliseconds from the last mishap until each kind of work was finished; undefined if it was not. */
  drained: ReadonlyMap<string, number | undefined>;
}): string[] {
  const { invoices, charges, outbox, receipts, paymentCommands } = evidence;
  const { byStatus, chargedTwice } = addUp({ invoices, charges, undispatched: outbox.pending });
  const entries = invoices.flatMap(({ timeline }) => timeline.map(({ what }) => what));
  const times = (what: string) => entries.filter((each) => each === what).length;
  return [
    `Mishaps     ${[...countBy(mishaps, nameOf)].map(([name, count]) => `${name} ${count}`).join(', ')}`,
    `Invoices    ${invoices.length}: ${Object.entries(byStatus)
      .map(([status, count]) => `${status} ${count}`)
      .join(', ')}`,
    `Claims      ${times('claimed')}, and ${times('reclaimed')} of stale claims`,
    `Retries     ${times('retry: unknown')} unknown, ${times('retry: transient')} transient, ${times('retry: declined')} declined`,
    `Charges     ${charges.length} in the payment ledger for ${byStatus.paid} paid invoices; charged twice: ${chargedTwice}`,
    `Receipts    ${receipts.length}`,
    `Outbox      ${outbox.pending} undispatched, ${outbox.parked} parked; dead letters: ${paymentCommands.deadLettered}`,
    `Drained     ${[...drained].map(([kind, ms]) => `${kind} ${secondsOf(ms)}`).join(', ')} after the last mishap`,
  ];
}

function secondsOf(ms: number | undefined): string {
  return ms === undefined ? 'NOT' : `${(ms / 1000).toFixed(0)} s`;
}

function nameOf(mishap: Mishap): string {
  return mishap.kind === 'fault' ? `${mishap.service} ${String(mishap.fault.kind)}` : mishap.kind;
}

function countBy<T>(all: readonly T[], name: (each: T) => string): Map<string, number> {
  const groups = Map.groupBy(all, name);
  return new Map(
    [...groups]
      .map(([key, group]) => [key, group.length] as const)
      .toSorted(([a], [b]) => a.localeCompare(b)),
  );
}
