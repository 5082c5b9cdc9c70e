import type { LockRecord, LockView } from '@payonce/leases';

/** A lock as a member sees it. */
export type MemberView = LockView | 'absent';

/** The answers so far, by member, and how many may still come. */
export interface Ballot<T> {
  readonly answers: ReadonlyMap<number, T>;
  readonly pending: number;
}

/** Number of members that it takes to decide, and of those that can prevent it. */
export interface Quorum {
  majority: number;
  blocking: number;
}

export function quorumOf(members: number): Quorum {
  const majority = Math.floor(members / 2) + 1;
  return { majority, blocking: members - majority + 1 };
}

export function count<T>({ answers }: Ballot<T>, matches: (answer: T) => boolean): number {
  let found = 0;
  for (const answer of answers.values()) if (matches(answer)) found++;
  return found;
}

/** A lock as a quorum has it. */
export interface Survey {
  view: LockView;
  /** True if the last record is certainly among those seen. */
  certain: boolean;
}

/**
 * The lock as a whole, once enough members have answered.
 *
 * The last record was written to a majority, so any majority that has records has it among them. A member without one says
 * nothing: it may have forgotten it. Where such a majority is lacking, all are heard, also if none so far knows the lock. `now` is in milliseconds since the
 * epoch: see `combined`.
 */
export function surveyed(
  ballot: Ballot<MemberView>,
  quorum: Quorum,
  now: number,
): Survey | 'absent' | undefined {
  const views = [...ballot.answers.values()].filter((view) => view !== 'absent');
  const recorded = views.filter(({ record }) => record !== undefined).length;
  const fresh = recorded === 0 && views.length >= quorum.majority;
  const certain = recorded >= quorum.majority;
  if (ballot.answers.size < quorum.majority) return undefined;
  if (ballot.pending > 0 && !certain && !fresh) return undefined;
  if (views.length === 0) return 'absent';
  return { view: combined(views, ballot.pending, quorum, now), certain };
}

/**
 * One view of several. `unknown` members may have the lock free. Later records may be lost if only a minority has one: new
 * fences are above them since they are no less than the latest of the members' clocks. `now` stands in for that of a member
 * that shows none.
 */
export function combined(
  views: readonly LockView[],
  unknown: number,
  { majority }: Quorum,
  now: number,
): LockView {
  const records = views.flatMap(({ record }) => record ?? []);
  const [latest] = records.toSorted((a, b) => b.fence - a.fence);
  const leased = views.filter(({ held }) => held).length;
  const held = leased > 0 && views.length - leased + unknown < majority;
  const clocks = views.map((view) => view.now ?? now);
  return { held, record: latest, version: versionOf(latest), now: Math.max(...clocks) };
}

/**
 * The version of a lock follows from its record alone: those of the members would change with who answers first. Stores
 * keep the parts of a record, not their order.
 */
function versionOf(record: LockRecord | undefined): string {
  if (record === undefined) return 'none';
  const { fence, owner, since, leaseMs } = record;
  return JSON.stringify([fence, owner.instance, owner.job, owner.runId ?? null, since, leaseMs]);
}
