import { z } from 'zod';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import {
  type ForceReleaseOutcome,
  forceRelease,
  jobLockPrefix,
  type LockListing,
  type LockStore,
  listLocks,
} from '../locking/index.ts';
import type { Instance } from '../platform/instance.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { AuditTrail } from './audit.ts';
import type { OpsRequest, OpsResponse } from './http.ts';
import { conflict, notFound, readBody, reasonSchema } from './requests.ts';

interface Parts {
  lockStore: LockStore;
  invoices: Pick<InvoiceStore, 'highestFence'>;
  audit: AuditTrail;
  instance: Instance;
  /** Who calls, for the audit trail. */
  actor: string;
}

export const releaseSchema = z.strictObject({
  key: z.string().min(1).max(1024),
  expectedOwner: z.string().min(1).max(256),
  reason: reasonSchema,
});

/**
 * `GET ops/locks`: every lock of a job that is held, and those free ones whose last holder is known. Locks of work items are
 * left out: they record no holder, cannot be released by force, and there is one for each invoice.
 */
export async function listLocksFor({
  lockStore,
  instance: { clock },
}: Pick<Parts, 'lockStore' | 'instance'>): Promise<OpsResponse> {
  const locks = await listLocks(lockStore, { prefix: jobLockPrefix, clock });
  if (locks === undefined) return notSupported('list its locks');
  const shown = locks.filter(({ held, owner }) => held || owner !== undefined);
  return { jsonBody: { locks: shown.map(lockView) } };
}

/** `expectedOwner` has to name the `owner`; times are ISO 8601. */
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

/** The store of locks that `LOCKS` names lacks this. */
function notSupported(what: string): OpsResponse {
  return problemResponse(problem(501, `the store of locks that LOCKS names cannot ${what}`));
}

/** `POST ops/locks/release` `{key, expectedOwner, reason}`: takes a lock from a holder that cannot let go. */
export async function releaseLock(
  request: OpsRequest,
  { lockStore, invoices, audit, actor, instance: { clock, telemetry } }: Parts,
): Promise<OpsResponse> {
  const asked = await readBody(request, releaseSchema);
  if (!asked.ok) return asked.response;
  const { key, expectedOwner, reason } = asked.value;
  const record = (outcome: string, fence: number | null = null) =>
    audit.append({
      actor,
      action: 'release lock',
      target: key,
      detail: { expectedOwner, reason, outcome, fence },
    });
  const asking = { key, expectedOwner, actor, reason };
  let released: ForceReleaseOutcome;
  try {
    released = await forceRelease(lockStore, asking, {
      clock,
      telemetry,
      fenceFloor: invoices.highestFence,
    });
  } catch (error) {
    // The lease may be broken already: the attempt is on record whatever came of it.
    await record('unknown');
    throw error;
  }
  await record(released.kind, released.kind === 'released' ? released.fence : null);
  switch (released.kind) {
    case 'released':
      return { jsonBody: { key, previousOwner: released.previous.owner.instance, fence: released.fence } };
    case 'unsupported':
      return notSupported('take a lock away: it ends when its holder stops renewing it');
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
