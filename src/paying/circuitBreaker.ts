import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import type { HeldBack, ProviderFault } from './paymentProvider.ts';

/** All in milliseconds. */
export interface BreakerPolicy {
  /** Window in which calls are counted. */
  windowMs: number;
  /** Time that the circuit stays open until one call may try again. */
  openMs: number;
}

const defaultBreakerPolicy: BreakerPolicy = { windowMs: 10_000, openMs: 10_000 };

/** With an answer within the window, this many failures, and more failures than answers, open the circuit. */
const fewestFailures = 3;
/** Calls of the window that count, at most: a provider that served thousands and fails is known to fail at once. */
const mostCounted = 100;

/** Times are of the monotonic clock: a step of the wall clock neither opens the circuit nor keeps it open. */
type State = { kind: 'closed' } | { kind: 'open'; untilMs: number } | { kind: 'halfOpen' };

/** The part of an answer that the breaker looks at. */
export interface CallAnswer {
  kind: string;
  message?: string;
  remembered?: true;
  answered?: true;
  fault?: ProviderFault;
}

/** Makes a call, or says that none is made at the moment. */
export type CircuitBreaker = <T extends CallAnswer>(call: () => Promise<T>) => Promise<T | HeldBack>;

/**
 * Stops calling a provider when most calls fail, and says so. Charges and look-ups count alike, because both go to the same
 * provider. Declines are answers, not failures, and so is a look-up that finds nothing or is refused as a bad request. So is a
 * refusal because there are too many calls: the pace follows that (src/pacing).
 *
 * - closed: every call is made. It opens when most calls of the last ten seconds have failed; at once, if nothing was
 *   answered in that time and the provider is unreachable or refuses our key, so that one call in a while is enough.
 * - open, for `openMs`: no call is made, so the invoices wait and none is declined or parked.
 * - half open: one call, a charge or a look-up, is made. An answer closes the circuit, a failure opens it again. Until
 *   then the other calls are held back as well: if they waited, a call could take up to twice its time-out.
 */
export function circuitBreaker(
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  { windowMs, openMs }: BreakerPolicy = defaultBreakerPolicy,
): CircuitBreaker {
  let state: State = { kind: 'closed' };
  let recent: { atMs: number; failed: boolean }[] = [];
  let last: CallAnswer | undefined;
  let inARow = 0;
  const message = 'calls are held back, since the provider fails broadly';
  const heldBack: HeldBack = { kind: 'heldBack', message, retryAfterMs: openMs };

  return async (call) => {
    if (state.kind === 'halfOpen') return heldBack;
    if (state.kind === 'open' && clock.monotonic() < state.untilMs) return heldBack;
    const isTrial = state.kind === 'open';
    if (isTrial) state = { kind: 'halfOpen' };
    let failed = true;
    try {
      const answer = await call();
      failed = note(answer);
      // If the provider fails at other calls too, the unknown outcome is not the payment's doing.
      const outage = failed && answer.kind === 'unknown' && (state.kind !== 'closed' || inARow > 1);
      return outage ? { ...answer, outage } : answer;
    } finally {
      if (isTrial && !failed) close();
      else if (isTrial || (failed && state.kind === 'closed' && areFailing())) open();
    }
  };

  /** True for a failure. */
  function note(answer: CallAnswer): boolean {
    const failed = isFailure(answer);
    const now = clock.monotonic();
    recent = [...recent.filter(({ atMs }) => atMs > now - windowMs), { atMs: now, failed }].slice(
      -mostCounted,
    );
    inARow = failed ? inARow + 1 : 0;
    if (failed) last = answer;
    return failed;
  }

  function areFailing(): boolean {
    const failures = recent.filter(({ failed }) => failed).length;
    const answers = recent.length - failures;
    // Nothing was sent, or the key was refused: the next call would fare no better.
    if (answers === 0) return last?.kind === 'transient' || failures > 1;
    return failures >= fewestFailures && failures > answers;
  }

  function open(): void {
    state = { kind: 'open', untilMs: clock.monotonic() + openMs };
    const reason = last?.fault ?? 'providerDown';
    telemetry.count(metric.paymentBreakerOpen, { reason });
    log(`${reasonText[reason]}: no calls for ${openMs} ms`);
  }

  function close(): void {
    state = { kind: 'closed' };
    log('the payment provider answers again');
  }
}

/** Why the circuit opened. Payments go on by themselves after all but a rejected key, which a person has to replace. */
export const reasonText = {
  providerDown: 'the payment provider does not answer',
  keyRejected: 'the payment provider refuses our key or account',
  badAnswer: 'the payment provider answers with failures of its own',
} as const satisfies Record<'providerDown' | ProviderFault, string>;

/** An answer that the provider remembers from an earlier call says nothing about its state now, and a refusal that it is up. */
function isFailure({ kind, remembered, answered }: CallAnswer): boolean {
  return kind === 'transient' || (kind === 'unknown' && remembered !== true && answered !== true);
}
