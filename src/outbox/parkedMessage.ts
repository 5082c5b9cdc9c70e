import type { Patch } from '../documents/documentStore.ts';
import { dispatchedTtl, type OutboxEntry } from './outboxMessage.ts';

/**
 * The write that puts a parked message back to pending at `at` (ISO 8601). It has been waiting since then, not since it was
 * written, so its age raises no alarm. `runId`: the bulk run that does it. Pure.
 */
export function redrivePatch(id: string, at: string, runId?: string): Patch {
  return {
    kind: 'patch',
    id,
    where: [{ path: 'status', is: '=', value: 'parked' }],
    set: {
      status: 'pending',
      attempts: 0,
      nextAttemptAt: at,
      notBefore: at,
      ...(runId === undefined ? {} : { redrivenBy: runId }),
    },
  };
}

/** Why a message that is not parked is not changed. Pure. */
export function notParked({ status, redrivenBy, discarded }: OutboxEntry) {
  return {
    kind: 'refused' as const,
    status,
    ...(redrivenBy === undefined ? {} : { redrivenBy }),
    ...(discarded === undefined ? {} : { discarded }),
  };
}

/** The write that discards a parked message. Earlier releases see it as dispatched, and leave it alone. Pure. */
export function discardPatch(id: string, discarded: NonNullable<OutboxEntry['discarded']>): Patch {
  return {
    kind: 'patch',
    id,
    where: [{ path: 'status', is: '=', value: 'parked' }],
    set: { status: 'dispatched', ttl: dispatchedTtl, discarded },
  };
}
