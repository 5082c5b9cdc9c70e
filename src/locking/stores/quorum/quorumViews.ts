import { createHash } from 'node:crypto';
import type { LockRecord, LockView } from '../../lockStore.ts';

/** What a member says of a lock. */
export type MemberView = LockView | 'absent';

/** The answers so far, by member, and how many may still come. */
export interface Ballot<T> {
  readonly answers: ReadonlyMap<number, T>;
  readonly pending: number;
}

/** How many members it takes to decide, and how many to prevent it. */
export interface Quorum {
  majority: number;
  blocking: number;
}

export function quorumOf(members: number): Quorum {
  const majority = Math.floor(members / 2) + 1;
  return { majority, blocking: members - majority + 1 };
}

export function count<T>({ answers }: Ballot<T>, matches: (answer: T) => boolean): number {
  return [...answers.values()].filter(matches).length;
}

/** A lock as a quorum has it. */
export interface Survey {
  view: LockView;
  /** The views of the members that have the lock. */
  views: ReadonlyMap<number, LockView>;
}

/**
 * The lock as a whole, once enough members have answered. A member that has forgotten a lock does not count among those
 * that have it: with them, the last record is always among the answers. If a majority has forgotten it, or never had it,
 * what is left decides.
 */
export function surveyed(ballot: Ballot<MemberView>, { majority }: Quorum): Survey | 'absent' | undefined {
  const views = new Map<number, LockView>();
  for (const [member, view] of ballot.answers) if (view !== 'absent') views.set(member, view);
  const absent = ballot.answers.size - views.size;
  if (views.size < majority && absent < majority) return undefined;
  if (views.size === 0) return 'absent';
  return { view: combined([...views.values()], ballot.pending, majority), views };
}

/** One view of several. `unknown` members may have the lock free. */
export function combined(views: readonly LockView[], unknown: number, majority: number): LockView {
  let record: LockRecord | undefined;
  for (const view of views) {
    if (view.record !== undefined && view.record.fence > (record?.fence ?? -1)) record = view.record;
  }
  const leased = views.filter(({ held }) => held).length;
  const held = leased > 0 && views.length - leased + unknown < majority;
  return { held, record, version: versionOf(record) };
}

/**
 * The version of a lock follows from its record alone: those of the members would change with who answers first. Stores
 * keep the parts of a record, not their order.
 */
function versionOf(record: LockRecord | undefined): string {
  if (record === undefined) return 'none';
  const { fence, owner, since, leaseMs } = record;
  const parts = [fence, owner.instance, owner.job, owner.runId ?? null, since, leaseMs];
  return `${fence}-${createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)}`;
}
