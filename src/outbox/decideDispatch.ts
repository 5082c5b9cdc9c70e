import type { PatchOperation } from '@azure/cosmos';
import { exponentialBackoff } from '../platform/backoff.ts';
import type { OutboxMessage } from './outboxMessage.ts';

/** What a destination says of one message. */
export type SendResult =
  | { kind: 'sent' }
  /** It may work later; it may even have arrived. */
  | { kind: 'failed'; error: string }
  /** Not sent: whoever wanted it sent may not act any more. */
  | { kind: 'withheld' }
  /** It will never be taken as it is, for example because it is too large. */
  | { kind: 'refused'; error: string };

/** Tries until a message is parked. */
export const maxDispatchAttempts = 10;
/** Milliseconds: 1 s, 2 s, 4 s … 5 min. */
const backoff = { base: 1_000, cap: 300_000 };
/** A dispatched message stays so long for people to look at: seconds, a week. */
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

/** The write that a decision asks for. The message expires only once it has been dispatched. */
export function dispatchPatches(decision: DispatchDecision): PatchOperation[] {
  switch (decision.kind) {
    case 'left':
      return [];
    case 'dispatched':
      return [
        { op: 'set', path: '/status', value: 'dispatched' },
        { op: 'remove', path: '/nextAttemptAt' },
        { op: 'set', path: '/ttl', value: dispatchedTtl },
      ];
    case 'retry':
      return [
        { op: 'set', path: '/attempts', value: decision.attempts },
        { op: 'set', path: '/nextAttemptAt', value: decision.at },
        { op: 'set', path: '/lastError', value: decision.error },
      ];
    case 'parked':
      return [
        { op: 'set', path: '/status', value: 'parked' },
        { op: 'set', path: '/attempts', value: decision.attempts },
        { op: 'remove', path: '/nextAttemptAt' },
        { op: 'set', path: '/lastError', value: decision.error },
      ];
  }
}
