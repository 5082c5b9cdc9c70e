import { exponentialBackoff } from '@payonce/leases/backoff';

/** Answer of a destination about one message. */
export type SendResult =
  | { kind: 'sent' }
  /** It may work later, however late; it may even have arrived. */
  | { kind: 'failed'; error: string }
  /** The destination rejects this very message, for example because it is too large: no later try would help. */
  | { kind: 'refused'; error: string };

/** Milliseconds: 1 s, 2 s, 4 s … 5 min. */
const backoff = { base: 1_000, cap: 300_000 };

/** Decision on a message after a send. */
export type DispatchDecision =
  | { kind: 'dispatched' }
  | { kind: 'retry'; attempts: number; at: string; error: string }
  | { kind: 'parked'; attempts: number; error: string };

/** Decides by the result of a send at `now` (milliseconds). Pure. */
export function decideDispatch(
  message: { readonly attempts: number },
  result: SendResult,
  now: number,
): DispatchDecision {
  if (result.kind === 'sent') return { kind: 'dispatched' };
  const attempts = message.attempts + 1;
  const { error } = result;
  if (result.kind === 'refused') return { kind: 'parked', attempts, error };
  return {
    kind: 'retry',
    attempts,
    at: new Date(now + exponentialBackoff(attempts, backoff)).toISOString(),
    error,
  };
}
