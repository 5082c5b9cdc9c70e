import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import { z } from 'zod';
import {
  type ForceReleaseOutcome,
  forceRelease,
  type LockListing,
  type LockStore,
  listLocks,
} from '../locking/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { Telemetry } from '../platform/telemetry.ts';
import { type Audit, actorOf } from './audit.ts';
import { conflict, notFound, readBody, reasonSchema } from './requests.ts';

interface Dependencies {
  lockStore: LockStore;
  clock: Clock;
  telemetry: Telemetry;
  audit: Audit;
}

const releaseSchema = z.strictObject({
  key: z.string().min(1).max(1024),
  expectedOwner: z.string().min(1).max(256),
  reason: reasonSchema,
});

/** What the keys of all locks with a fence begin with. */
const jobLocks = 'jobs/';

/**
 * `GET ops/locks`: every lock of a job that is held, and those free ones whose last holder is known. The locks of work
 * items leave no name, cannot be taken from their holders, and there is one for each invoice: they are not asked for.
 */
export async function listLocksFor({ lockStore, clock }: Dependencies): Promise<HttpResponseInit> {
  const locks = await listLocks(lockStore, clock, { prefix: jobLocks });
  const telling = locks.filter(({ held, owner }) => held || owner !== undefined);
  return { jsonBody: { locks: telling.map(lockView) } };
}

/** `owner` is what `expectedOwner` has to name; times are ISO 8601. */
function lockView({ key, held, owner, acquiredAt, expiry, fence }: LockListing) {
  return {
    key,
    held,
    owner: owner?.instance ?? null,
    job: owner?.job ?? null,
    runId: owner?.runId ?? null,
    acquiredAt: acquiredAt ?? null,
    expiry: expiry ?? null,
    fence,
  };
}

/** `POST ops/locks/release` `{key, expectedOwner, reason}`: takes a lock from a holder that cannot let go. */
export async function releaseLock(
  request: HttpRequest,
  { lockStore, clock, telemetry, audit }: Dependencies,
): Promise<HttpResponseInit> {
  const asked = await readBody(request, releaseSchema);
  if (!asked.ok) return asked.response;
  const { key, expectedOwner, reason } = asked.value;
  const actor = actorOf(request.headers);
  const record = (outcome: string, fence: number | null = null) =>
    audit({
      actor,
      action: 'release lock',
      target: key,
      detail: { expectedOwner, reason, outcome, fence },
    });
  const asking = { key, expectedOwner, actor, reason };
  let released: ForceReleaseOutcome;
  try {
    released = await forceRelease(lockStore, clock, asking, undefined, telemetry);
  } catch (error) {
    // The lease may be broken already. That somebody tried is known, whatever came of it.
    await record('unknown');
    throw error;
  }
  await record(released.kind, released.kind === 'released' ? released.fence : null);
  switch (released.kind) {
    case 'released':
      return { jsonBody: { key, previousOwner: released.previous.owner.instance, fence: released.fence } };
    case 'notFound':
      return notFound(`lock "${key}"`);
    case 'notHeld':
      return conflict(`lock "${key}" is not held: there is nothing to release`);
    case 'otherOwner': {
      const owner = released.owner === undefined ? 'one that left no name' : `"${released.owner.instance}"`;
      return conflict(`lock "${key}" is held by ${owner}, not by "${expectedOwner}"`);
    }
  }
}
