import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import { guardedProvider } from './guardedProvider.ts';
import type { HeldBack, PaymentProvider, ProviderFault } from './paymentProvider.ts';

/** All in milliseconds. */
export interface BreakerPolicy {
  /** Window in which calls are counted. */
  windowMs: number;
  /**
   * A call without an answer for this long, and for twice as long as the last answer took, counts as a failure until it is
   * answered. Its answer is its outcome all the same.
   */
  silentMs: number;
  /** Time that the circuit stays open until one call may try again. */
  openMs: number;
}

const defaultBreakerPolicy: BreakerPolicy = { windowMs: 10_000, silentMs: 5_000, openMs: 10_000 };

/** Interval at which unanswered calls are looked through (ms). */
const lookEveryMs = 500;

/** With an answer within the window, this many failures, and more failures than answers, open the circuit. */
const fewestFailures = 3;

/** Times are of the monotonic clock: a step of the wall clock neither opens the circuit nor keeps it open. */
type State = { kind: 'closed' } | { kind: 'open'; untilMs: number } | { kind: 'halfOpen' };

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
export function withCircuitBreaker(
  provider: PaymentProvider,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  policy: BreakerPolicy = defaultBreakerPolicy,
): PaymentProvider {
  const recent = recentCalls(() => clock.monotonic(), policy.windowMs);
  let state: State = { kind: 'closed' };
  let lastMs = 0;
  const unanswered = new Set<{ began: number; silent: boolean }>();
  let watching = false;
  const message = 'calls are held back, since the provider fails broadly';
  const heldBack: HeldBack = { kind: 'heldBack', message, retryAfterMs: policy.openMs };
  return guardedProvider(provider, unlessOpen);

  async function unlessOpen<T extends Answer>(call: () => Promise<T>): Promise<T | HeldBack> {
    if (state.kind === 'halfOpen') return heldBack;
    if (state.kind === 'open' && clock.monotonic() < state.untilMs) return heldBack;
    const answer = await (state.kind === 'open' ? trial(call) : counted(call));
    // If the provider fails at other calls too, the unknown outcome is not the payment's doing.
    const outage =
      answer.kind === 'unknown' && isFailure(answer) && (state.kind !== 'closed' || recent.isOutage());
    return outage ? { ...answer, outage } : answer;
  }

  async function trial<T extends Answer>(call: () => Promise<T>): Promise<T> {
    state = { kind: 'halfOpen' };
    let failed = true;
    try {
      const answer = await call();
      failed = note(answer);
      return answer;
    } finally {
      if (failed) open();
      else close();
    }
  }

  async function counted<T extends Answer>(call: () => Promise<T>): Promise<T> {
    const made = { began: clock.monotonic(), silent: false };
    unanswered.add(made);
    watch();
    try {
      const answer = await call();
      if (!isFailure(answer)) lastMs = clock.monotonic() - made.began;
      if (!made.silent) judge(answer);
      else if (!isFailure(answer)) recent.answeredAfterAll();
      return answer;
    } finally {
      unanswered.delete(made);
    }
  }

  /** One timer for all calls, while there are any. */
  function watch(): void {
    if (watching) return;
    watching = true;
    void clock.sleep(lookEveryMs).then(() => {
      watching = false;
      const boundMs = Math.max(policy.silentMs, 2 * lastMs);
      for (const call of unanswered) {
        if (call.silent || clock.monotonic() - call.began < boundMs) continue;
        call.silent = true;
        judge({ kind: 'unknown', message: 'no answer yet' });
      }
      if (unanswered.size > 0) watch();
    });
  }

  /** Opens a closed circuit if this answer is one failure too many. */
  function judge(answer: Answer): void {
    if (note(answer) && state.kind === 'closed' && recent.areFailing()) open();
  }

  /** True for a failure. One refused call is enough for the alert: it must not take many, because there may be few. */
  function note(answer: Answer): boolean {
    if (answer.fault === 'keyRejected') telemetry.record(metric.providerKeyRejected, 1);
    return recent.note(answer);
  }

  function open(): void {
    state = { kind: 'open', untilMs: clock.monotonic() + policy.openMs };
    const reason = recent.reason();
    telemetry.count(metric.paymentBreakerOpen, { reason });
    log(`${reasonText[reason]}: no calls for ${policy.openMs} ms`);
  }

  function close(): void {
    state = { kind: 'closed' };
    log('the payment provider answers again');
  }
}

/** Why the circuit opened. Payments go on by themselves after all but a rejected key, which a person has to replace. */
type BreakerReason = 'providerDown' | ProviderFault;

export const reasonText = {
  providerDown: 'the payment provider does not answer',
  keyRejected: 'the payment provider refuses our key or account',
  badAnswer: 'the payment provider answers with failures of its own',
} as const satisfies Record<BreakerReason, string>;

/** What the breaker looks at in the answer of any call. */
type Answer = { kind: string; message?: string; remembered?: true; answered?: true; fault?: ProviderFault };

/** An answer that the provider remembers from an earlier call says nothing about its state now, and a refusal that it is up. */
function isFailure({ kind, remembered, answered }: Answer): boolean {
  return kind === 'transient' || (kind === 'unknown' && remembered !== true && answered !== true);
}

/** The calls of the last `windowMs` milliseconds, and whether they should open the circuit. */
function recentCalls(now: () => number, windowMs: number) {
  let seconds: { second: number; answers: number; failures: number }[] = [];
  let last: Answer | undefined;
  let inARow = 0;

  return {
    /** True for a failure. */
    note(answer: Answer): boolean {
      const failed = isFailure(answer);
      if (failed) {
        last = answer;
        inARow++;
        thisSecond().failures++;
      } else {
        inARow = 0;
        thisSecond().answers++;
      }
      return failed;
    },
    /** One of the failures was a call that was only slow. */
    answeredAfterAll(): void {
      inARow = 0;
      const oldest = seconds.find(({ failures }) => failures > 0);
      if (oldest === undefined) return;
      oldest.failures--;
      oldest.answers++;
    },
    areFailing(): boolean {
      const sum = (of: 'answers' | 'failures') => seconds.reduce((total, one) => total + one[of], 0);
      const [answers, failures] = [sum('answers'), sum('failures')];
      // Nothing was sent, or the key was refused: the next call would fare no better.
      if (answers === 0) return last?.kind === 'transient' || failures > 1;
      return failures >= fewestFailures && failures > answers;
    },
    /** Two failures without an answer in between are the provider's, even where calls are too rare to open the circuit. */
    isOutage: () => inARow > 1,
    reason: (): BreakerReason => last?.fault ?? 'providerDown',
  };

  /** Counts by second: there can be thousands of calls in a window. */
  function thisSecond() {
    const second = Math.floor(now() / 1000);
    const latest = seconds.at(-1);
    if (latest?.second === second) return latest;
    const next = { second, answers: 0, failures: 0 };
    seconds = [...seconds.filter((one) => one.second > second - windowMs / 1000), next];
    return next;
  }
}
