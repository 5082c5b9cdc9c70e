import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  handleWhenResult,
  SamplingBreaker,
} from 'cockatiel';
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import type { ChargeOutcome, FoundPayment, PaymentProvider } from './paymentProvider.ts';

export interface BreakerPolicy {
  /** Share of failed calls that opens the circuit. */
  threshold: number;
  /** Window in which calls are counted, in milliseconds. */
  windowMs: number;
  /** Calls per second below which the share says nothing. */
  minimumRps: number;
  /** How long the circuit stays open until one call may try again, in milliseconds. */
  openMs: number;
}

const defaultBreakerPolicy: BreakerPolicy = {
  threshold: 0.5,
  windowMs: 10_000,
  minimumRps: 2,
  openMs: 10_000,
};

/**
 * Stops calling a provider when most calls fail, and says so. Charges and look-ups count alike, because both go to the same
 * provider. Declines are answers, not failures, and so is a look-up that finds nothing.
 *
 * - closed: every call is made. When too many fail, the circuit opens.
 * - open, for `openMs`: no call is made. Every charge is `transient`, so the invoices wait and none is declined or parked;
 *   every look-up is `unknown`, so it is repeated later.
 * - half open: the next call, a charge or a look-up, is made. An answer closes the circuit, a failure opens it again. Until
 *   then the other calls are held back as well: if they waited, a call could take up to twice its time-out.
 */
export function withCircuitBreaker(
  provider: PaymentProvider,
  { telemetry, log }: Pick<Instance, 'telemetry' | 'log'>,
  policy: BreakerPolicy = defaultBreakerPolicy,
): PaymentProvider {
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    halfOpenAfter: policy.openMs,
    breaker: new SamplingBreaker({
      threshold: policy.threshold,
      duration: policy.windowMs,
      minimumRps: policy.minimumRps,
    }),
  });
  breaker.onStateChange((state) => {
    if (state === CircuitState.Open) {
      telemetry.count(metric.paymentBreakerOpen);
      log(`the payment provider fails broadly: no calls for ${policy.openMs} ms`);
    } else if (state === CircuitState.Closed) log('the payment provider answers again');
  });
  return {
    charge: (request) =>
      unlessOpen<ChargeOutcome>(() => provider.charge(request), {
        kind: 'transient',
        code: 'circuit_open',
        message: heldBack,
        retryAfterMs: policy.openMs,
      }),
    find: (sought) =>
      unlessOpen<FoundPayment>(() => provider.find(sought), { kind: 'unknown', message: heldBack }),
  };

  async function unlessOpen<T extends ChargeOutcome | FoundPayment>(
    call: () => Promise<T>,
    otherwise: T,
  ): Promise<T> {
    if (breaker.state === CircuitState.HalfOpen) return otherwise;
    try {
      return await breaker.execute(call);
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
      return otherwise;
    }
  }
}

const heldBack = 'calls are held back, since the provider fails broadly';

/** An answer that the provider remembers from an earlier call says nothing about its state now. */
function isFailure(result: unknown): boolean {
  const outcome = result as ChargeOutcome | FoundPayment;
  if (outcome.kind === 'transient') return true;
  return outcome.kind === 'unknown' && !('remembered' in outcome && outcome.remembered);
}
