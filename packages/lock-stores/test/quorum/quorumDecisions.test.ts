import { describe, expect, test } from 'vitest';
import type { LockRecord, LockView } from '../../../leases/src/index.ts';
import { memoryLockStore } from '../../../leases/src/testing/memoryLockStore.ts';
import {
  decideAcquire,
  decideBreak,
  decideRaise,
  decideRelease,
  decideRenew,
} from '../../src/quorum/quorumDecisions.ts';
import { quorumTraits } from '../../src/quorum/quorumTraits.ts';
import { type MemberView, quorumOf, surveyed } from '../../src/quorum/quorumViews.ts';

/** Answer of one member of a quorum: a failure, or nothing yet, is an answer too. */
type Said<T> = T | 'failed' | 'pending';

function ballotOf<T>(said: readonly Said<T>[]) {
  const answers = new Map<number, T>();
  let pending = 0;
  for (const [member, answer] of said.entries()) {
    if (answer === 'pending') pending++;
    else if (answer !== 'failed') answers.set(member, answer);
  }
  return { answers, pending };
}

const taken = { kind: 'refused', reason: 'taken', detail: '' } as const;
const deleted = { kind: 'refused', reason: 'deleted', detail: '' } as const;

describe('a quorum of three', () => {
  const three = quorumOf(3);

  test.each([
    [['acquired', 'acquired', 'pending'], 'acquired'],
    [['acquired', 'held', 'pending'], undefined],
    [['acquired', 'held', 'failed'], 'held'],
    [['held', 'held', 'pending'], 'held'],
    // One that lacks the lock has no vote, and one vote is not enough.
    [['acquired', 'absent', 'pending'], undefined],
    [['acquired', 'absent', 'failed'], 'held'],
    [['acquired', 'absent', 'absent'], 'held'],
    [['held', 'absent', 'absent'], 'held'],
    [['absent', 'absent', 'pending'], 'absent'],
    [['absent', 'absent', 'failed'], 'absent'],
    [['acquired', 'failed', 'failed'], undefined],
    [['absent', 'failed', 'failed'], undefined],
  ] as const)('acquire %j: %s', (said, outcome) => {
    expect(decideAcquire(ballotOf<'acquired' | 'held' | 'absent'>(said), three)).toBe(outcome);
  });

  test.each([
    [['raised', 'raised', 'pending'], 'raised'],
    [['raised', 'changed', 'pending'], undefined],
    [['raised', 'changed', 'changed'], 'changed'],
    [['raised', 'changed', taken], 'changed'],
    [['raised', taken, taken], taken],
    [['raised', 'changed', 'failed'], undefined],
  ] as const)('raise %j: %j', (said, outcome) => {
    expect(decideRaise(ballotOf<'raised' | 'changed' | typeof taken>(said), three)).toEqual(outcome);
  });

  test.each([
    [['renewed', 'renewed', 'pending'], 'renewed'],
    [['renewed', taken, 'pending'], undefined],
    [['renewed', taken, 'failed'], undefined],
    [[taken, deleted, 'pending'], taken],
    [[deleted, taken, 'pending'], taken],
    [[taken, deleted, deleted], deleted],
  ] as const)('renew %j: %j', (said, outcome) => {
    expect(decideRenew(ballotOf<'renewed' | typeof taken | typeof deleted>(said), three)).toEqual(outcome);
  });

  test.each([
    [['released', 'released', 'failed'], 'released'],
    [['released', 'gone', 'gone'], 'gone'],
    [['released', 'gone', 'failed'], undefined],
  ] as const)('release %j: %s', (said, outcome) => {
    expect(decideRelease(ballotOf<'released' | 'gone'>(said), three)).toBe(outcome);
  });

  test.each([
    [['broken', 'broken', 'pending'], 'broken'],
    [['broken', 'notHeld', 'failed'], 'broken'],
    [['notHeld', 'notHeld', 'pending'], 'notHeld'],
    [['broken', 'changed', 'changed'], 'changed'],
    [['broken', 'changed', 'failed'], undefined],
  ] as const)('break %j: %s', (said, outcome) => {
    expect(decideBreak(ballotOf<'broken' | 'notHeld' | 'changed'>(said), three)).toBe(outcome);
  });
});

describe('the view of a quorum', () => {
  const now = 1_800_000_000_000;
  const record = (fence: number): LockRecord => {
    return { fence, owner: { instance: 'i', job: 'j' }, since: 1, leaseMs: 6_000 };
  };
  const view = (held: boolean, fence?: number): LockView => {
    return { held, record: fence === undefined ? undefined : record(fence), version: `of ${fence}` };
  };
  const seen = (said: readonly Said<MemberView>[], members = said.length) =>
    surveyed(ballotOf(said), quorumOf(members), now);

  test('has the highest fence of a majority', () => {
    expect(seen([view(false, 4), view(false, 5), 'pending'])).toMatchObject({
      view: { record: { fence: 5 } },
      certain: true,
    });
  });

  test('waits for the rest while fewer have a record', () => {
    for (const other of [view(false), 'absent'] as const) {
      expect(seen([view(false, 4), other, 'pending'])).toBeUndefined();
      expect(seen([view(false, 4), other, view(false, 5)])).toMatchObject({ view: { record: { fence: 5 } } });
    }
  });

  test('has the latest of the clocks, below which later records may be lost', () => {
    expect(seen([view(false, 4), 'absent', 'failed'])).toMatchObject({
      view: { record: { fence: 4 }, now },
      certain: false,
    });
    const early = { ...view(false, 4), now: now - 7 };
    const late = { ...view(false), now: now + 7 };
    expect(seen([early, late, early])).toMatchObject({ view: { now: now + 7 } });
  });

  test('is held as long as no majority can be free', () => {
    const heldIn = (said: readonly Said<MemberView>[]) => {
      const survey = seen(said);
      return survey === undefined || survey === 'absent' ? survey : survey.view.held;
    };
    expect(heldIn([view(true, 1), view(true, 1), 'pending'])).toBe(true);
    expect(heldIn([view(true, 1), view(false, 1), 'pending'])).toBe(false);
    expect(heldIn([view(true, 1), view(false, 1), 'failed'])).toBe(true);
    expect(heldIn([view(true, 1), view(false, 1), view(false, 1)])).toBe(false);
    expect(heldIn([view(true, 1), 'absent', 'absent'])).toBe(true);
    expect(heldIn([view(false, 1), 'absent', 'absent'])).toBe(false);
  });

  test('is absent only if nobody who answers knows the lock', () => {
    expect(seen(['absent', 'absent', 'pending'])).toBeUndefined();
    expect(seen(['absent', 'absent', 'failed'])).toBe('absent');
    expect(seen(['absent', 'failed', 'failed'])).toBeUndefined();
    expect(seen(['absent', 'absent', view(false)])).not.toBe('absent');
  });

  test('does not need a majority with records where no one has any', () => {
    expect(seen([view(false), view(false), 'pending'])).toMatchObject({ view: { record: undefined } });
  });

  test('has a version that does not depend on who answers', () => {
    const versions = [
      seen([view(false, 5), view(true, 5), 'pending']),
      seen(['failed', { ...view(false, 5), version: 'another' }, view(false, 4)]),
    ].map((survey) => (survey === undefined || survey === 'absent' ? survey : survey.view.version));
    expect(new Set(versions).size).toBe(1);
  });
});

test('the traits of a quorum are what all its stores can do', () => {
  const store = memoryLockStore();
  const withLease = (minMs: number, maxMs: number, stepMs: number) => {
    return { ...store, traits: { ...store.traits, lease: { minMs, maxMs, stepMs }, expiryLagMs: minMs } };
  };
  expect(quorumTraits([withLease(1_000, 60_000, 1_000), withLease(100, 45_500, 1_500)], 2_500)).toEqual({
    lease: { minMs: 3_000, maxMs: 45_000, stepMs: 3_000 },
    expiryLagMs: 1_000,
    keptBy: 'id',
    looks: 'anyone',
  });
  expect(() => quorumTraits([withLease(15_000, 60_000, 1_000), withLease(100, 10_000, 1)], 0)).toThrow(
    'There is no lease that all stores grant',
  );
});
