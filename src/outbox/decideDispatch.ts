import type { Patch } from '../documents/documentStore.ts';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/** What a destination says about one message. */
export type SendResult =
  | { kind: 'sent' }
  /** It may work later; it may even have arrived. */
  | { kind: 'failed'; error: string }
  /** Not sent, because the sender may not act any more. */
  | { kind: 'withheld' }
  /** It will never be accepted as it is, for example because it is too large. */
  | { kind: 'refused'; error: string };

/** Tries until a message is parked. */
export const maxDispatchAttempts = 10;
/** Milliseconds: 1 s, 2 s, 4 s … 5 min. */
const backoff = { base: 1_000, cap: 300_000 };
/** Seconds that a dispatched message is kept for people to look at: a week. */
const dispatchedTtl = 7 * 24 * 3600;

/** What a send means for the message. */
export type DispatchDecision =
  | { kind: 'dispatched' }
  /** It stays as it is, for the sweeper. */
  | { kind: 'left' }
  | { kind: 'retry'; attempts: number; at: string; error: string }
  | { kind: 'parked'; attempts: number; error: string };

/** Decides by the result of a send at `now` (milliseconds). Pure. */
export function decideDispatch(
  message: Pick<OutboxMessage, 'attempts'>,
  result: SendResult,
  now: number,
): DispatchDecision {
  if (result.kind === 'sent') return { kind: 'dispatched' };
  if (result.kind === 'withheld') return { kind: 'left' };
  const attempts = message.attempts + 1;
  const { error } = result;
  if (result.kind === 'refused' || attempts >= maxDispatchAttempts)
    return { kind: 'parked', attempts, error };
  return {
    kind: 'retry',
    attempts,
    at: new Date(now + exponentialBackoff(attempts, backoff)).toISOString(),
    error,
  };
}

/**
 * The write that a decision asks for; undefined if there is nothing to record. It holds only if nobody has recorded
 * anything since the message was read. The message expires only once it has been dispatched.
 */
export function dispatchPatch(
  { id, attempts }: Pick<OutboxMessage, 'id' | 'attempts'>,
  decision: DispatchDecision,
): Patch | undefined {
  if (decision.kind === 'left') return undefined;
  const patch: Patch = {
    kind: 'patch',
    id,
    where: [
      { path: 'status', is: '=', value: 'pending' },
      { path: 'attempts', is: '=', value: attempts },
    ],
  };
  switch (decision.kind) {
    case 'dispatched':
      return { ...patch, set: { status: 'dispatched', ttl: dispatchedTtl }, remove: ['nextAttemptAt'] };
    case 'retry': {
      const { attempts: tried, at, error } = decision;
      return { ...patch, set: { attempts: tried, nextAttemptAt: at, lastError: error } };
    }
    case 'parked': {
      const { attempts: tried, error } = decision;
      const set = { status: 'parked', attempts: tried, lastError: error };
      return { ...patch, set, remove: ['nextAttemptAt'] };
    }
  }
}
