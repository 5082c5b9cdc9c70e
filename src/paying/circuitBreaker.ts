import { BrokenCircuitError, CircuitState, circuitBreaker, handleWhenResult, type IBreaker } from 'cockatiel';
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
   * answered. Whatever it answers then is its outcome all the same.
   */
  silentMs: number;
  /** How long the circuit stays open until one call may try again. */
  openMs: number;
}

const defaultBreakerPolicy: BreakerPolicy = { windowMs: 10_000, silentMs: 5_000, openMs: 10_000 };

/** How often unanswered calls are looked through, in milliseconds. */
const lookEveryMs = 500;

/** With an answer within the window, this many failures, and more failures than answers, open the circuit. */
const fewestFailures = 3;

/**
 * Stops calling a provider when most calls fail, and says so. Charges and look-ups count alike, because both go to the same
 * provider. Declines are answers, not failures, and so is a look-up that finds nothing. So is a refusal because there are too
 * many calls: the pace follows that (src/pacing).
 *
 * - closed: every call is made. It opens when most calls of the last ten seconds have failed; at once, if nothing was
 *   answered in that time and the provider is unreachable or refuses our key, so that one call in a while is enough.
 * - open, for `openMs`: no call is made, so the invoices wait and none is declined or parked.
 * - half open: the next call, a charge or a look-up, is made. An answer closes the circuit, a failure opens it again. Until
 *   then the other calls are held back as well: if they waited, a call could take up to twice its time-out.
 */
export function withCircuitBreaker(
  provider: PaymentProvider,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  policy: BreakerPolicy = defaultBreakerPolicy,
): PaymentProvider {
  const rule = openingRule(() => clock.monotonic(), policy.windowMs);
  const breaker = circuitBreaker(
    handleWhenResult((result) => judge(result as Answer)),
    { halfOpenAfter: policy.openMs, breaker: rule },
  );
  breaker.onStateChange((state) => {
    if (state === CircuitState.Open) {
      const reason = rule.reason();
      telemetry.count(metric.paymentBreakerOpen, { reason });
      log(`${reasonText[reason]}: no calls for ${policy.openMs} ms`);
    } else if (state === CircuitState.Closed) log('the payment provider answers again');
  });
  let lastMs = 0;
  const unanswered = new Set<{ began: number; silent: boolean; fail: () => void }>();
  let watching = false;
  const message = 'calls are held back, since the provider fails broadly';
  const heldBack: HeldBack = { kind: 'heldBack', message, retryAfterMs: policy.openMs };
  return guardedProvider(provider, unlessOpen);

  /** One refused call is enough for the alert: it must not take many, because there may be few. */
  function judge(answer: Answer): boolean {
    if (answer.fault === 'keyRejected') telemetry.record(metric.providerKeyRejected, 1);
    return rule.judged(answer);
  }

  /** Says with an unknown outcome whether the provider fails at other calls, too: then it is not the payment's doing. */
  async function marked<T extends Answer>(answer: Promise<T>): Promise<T> {
    const given = await answer;
    const unknown = given.kind === 'unknown' && isFailure(given);
    return unknown && rule.isOutage(breaker.state) ? { ...given, outage: true } : given;
  }

  async function unlessOpen<T extends Answer>(call: () => Promise<T>): Promise<T | HeldBack> {
    if (breaker.state === CircuitState.HalfOpen) return heldBack;
    let answer: Promise<T> | undefined;
    try {
      await breaker.execute(() => {
        answer = call();
        return breaker.state === CircuitState.HalfOpen ? answer : orSilent(answer);
      });
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
    }
    return answer === undefined ? heldBack : marked(answer);
  }

  /** The answer, or a failure once the call has been silent for too long. */
  function orSilent(answer: Promise<Answer>): Promise<Answer> {
    const began = clock.monotonic();
    const silent = Promise.withResolvers<Answer>();
    const fail = () => silent.resolve({ kind: 'unknown', message: 'no answer yet' });
    const call = { began, silent: false, fail };
    unanswered.add(call);
    watch();
    void answer.then(
      (given) => {
        unanswered.delete(call);
        if (isFailure(given)) return;
        lastMs = clock.monotonic() - began;
        if (call.silent) rule.answeredAfterAll();
      },
      () => unanswered.delete(call),
    );
    return Promise.race([answer, silent.promise]);
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
        call.fail();
      }
      if (unanswered.size > 0) watch();
    });
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
type Answer = { kind: string; message?: string; remembered?: true; fault?: ProviderFault };

interface OpeningRule extends IBreaker {
  /** Notes an answer; true if it is a failure. */
  judged(answer: Answer): boolean;
  /** By the last failure. */
  reason(): BreakerReason;
  /** Two failures without an answer in between are the provider's, even where calls are too rare to open the circuit. */
  isOutage(state: CircuitState): boolean;
  /** One of the failures was a call that was only slow. */
  answeredAfterAll(): void;
}

/** An answer that the provider remembers from an earlier call says nothing about its state now. */
function isFailure({ kind, remembered }: Answer): boolean {
  return kind === 'transient' || (kind === 'unknown' && remembered !== true);
}

/** Decides when the circuit opens, by the calls of the last `windowMs` milliseconds. */
function openingRule(now: () => number, windowMs: number): OpeningRule {
  let seconds: { second: number; answers: number; failures: number }[] = [];
  let last: Answer | undefined;
  let inARow = 0;

  return {
    state: undefined,
    judged(answer) {
      const failed = isFailure(answer);
      if (failed) last = answer;
      inARow = failed ? inARow + 1 : 0;
      return failed;
    },
    isOutage: (state) => state !== CircuitState.Closed || inARow > 1,
    reason: () => last?.fault ?? 'providerDown',
    success: () => void thisSecond().answers++,
    answeredAfterAll() {
      inARow = 0;
      const oldest = seconds.find(({ failures }) => failures > 0);
      if (oldest === undefined) return;
      oldest.failures--;
      oldest.answers++;
    },
    failure(state) {
      thisSecond().failures++;
      if (state === CircuitState.HalfOpen) return true;
      const sum = (of: 'answers' | 'failures') => seconds.reduce((total, one) => total + one[of], 0);
      const [answers, failures] = [sum('answers'), sum('failures')];
      // Nothing was sent, or the key was refused: the next call would fare no better.
      if (answers === 0) return last?.kind === 'transient' || failures > 1;
      return failures >= fewestFailures && failures > answers;
    },
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
