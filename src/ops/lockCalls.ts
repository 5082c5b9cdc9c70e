import { forceRelease, jobLockPrefix, type LockListing, listLocks } from '@payonce/leases';
import { z } from 'zod';
import { expecting } from '../importing/fieldErrors.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import { type LeaseAnswer, leasesAnswer, releasedAnswer } from './answers/leaseAnswers.ts';
import { call } from './call.ts';
import { reasonSchema } from './fields.ts';
import { conflict, notFound } from './refusals.ts';
import type { OpsResponse } from './requests.ts';

export const lockCalls = {
  listLocks: call({
    method: 'GET',
    route: 'ops/locks',
    tag: 'Leases',
    summary: 'The present or last holder of each lease',
    answer: { json: leasesAnswer },
    problems: [501],
    /**
     * Every lock of a job that is held, and those free ones whose last holder is known. Locks of work items are left out:
     * they record no holder, cannot be released by force, and there is one for each invoice.
     */
    async handle(_asked, { lockStore, instance: { clock } }) {
      const locks = await listLocks(lockStore, { prefix: jobLockPrefix, clock });
      if (locks === undefined) return notSupported('list its locks');
      const known = locks.filter(({ held, owner }) => held || owner !== undefined);
      return { jsonBody: { locks: known.map(lockView) } };
    },
  }),
  releaseLock: call({
    method: 'POST',
    audit: 'release lock',
    route: 'ops/locks/release',
    tag: 'Leases',
    summary: 'Takes a lease from its holder',
    body: z.strictObject({
      key: z
        .string({ error: expecting('a key of GET ops/locks') })
        .min(1)
        .max(1024),
      expectedOwner: z
        .string({ error: expecting('the owner of the lock in GET ops/locks') })
        .min(1)
        .max(256),
      reason: reasonSchema,
    }),
    targets: ({ key }) => [key],
    answer: { json: releasedAnswer },
    problems: [404, 409, 501],
    async handle({ caller, body, record }, { lockStore, instance: { clock, telemetry } }) {
      const { key, expectedOwner, reason } = body;
      const asking = { key, expectedOwner, actor: caller.actor, reason };
      const released = await forceRelease(lockStore, asking, { clock, telemetry });
      const fence = released.kind === 'released' ? released.fence : null;
      await record(key, { expectedOwner, reason, outcome: released.kind, fence });
      switch (released.kind) {
        case 'released':
          return {
            jsonBody: { key, previousOwner: released.previous.owner.instance, fence: released.fence },
          };
        case 'unsupported':
          return notSupported('take a lock away: it ends when its holder stops renewing it');
        case 'notFound':
          return notFound(`lock "${key}"`);
        case 'notHeld':
        case 'otherOwner': {
          const owner = released.owner ? `"${released.owner.instance}"` : 'one that left no name';
          const state = released.kind === 'notHeld' ? 'is free, and was last held by' : 'is held by';
          return conflict(
            `lock "${key}" ${state} ${owner}, not by "${expectedOwner}": look at the leases again`,
          );
        }
      }
    },
  }),
};

/** `expectedOwner` has to name the `owner`; times are ISO 8601. */
function lockView({ key, held, owner, acquiredAt, expiry, fence }: LockListing): LeaseAnswer {
  const by = { owner: owner?.instance ?? null, job: owner?.job ?? null, runId: owner?.runId ?? null };
  return { key, held, ...by, acquiredAt: acquiredAt ?? null, expiry: expiry ?? null, fence };
}

/** The store of locks that `LOCKS` names lacks this. */
function notSupported(what: string): OpsResponse<never> {
  return problemResponse(problem(501, `the store of locks that LOCKS names cannot ${what}`));
}
