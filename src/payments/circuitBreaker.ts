import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  handleWhenResult,
  SamplingBreaker,
} from 'cockatiel';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import type { ChargeOutcome, PaymentProvider } from './provider.ts';

export interface BreakerPolicy {
  /** Share of failed calls that opens the circuit. */
  threshold: number;
  /** Window in which calls are counted, in milliseconds. */
  windowMs: number;
  /** Calls per second below which the share says nothing. */
  minimumRps: number;
  /** How long the circuit stays open until one call tries again, in milliseconds. */
  openMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = {
  threshold: 0.5,
  windowMs: 10_000,
  minimumRps: 2,
  openMs: 10_000,
};

/**
 * Stops calling a provider that fails broadly, and says so: while the circuit is open every charge is `transient`, so
 * the invoices wait and none is declined or parked. Declines are answers, not failures.
 */
export function withCircuitBreaker(
  provider: PaymentProvider,
  {
    telemetry,
    log,
    policy = defaultBreakerPolicy,
  }: {
    telemetry: Telemetry;
    log: (message: string) => void;
    policy?: BreakerPolicy;
  },
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
    ...provider,
    async charge(request) {
      try {
        return await breaker.execute(() => provider.charge(request));
      } catch (error) {
        if (!(error instanceof BrokenCircuitError)) throw error;
        return {
          kind: 'transient',
          code: 'circuit_open',
          message: 'the provider fails broadly',
          retryAfterMs: policy.openMs,
        };
      }
    },
  };
}

/** What the provider remembers of an earlier call says nothing of how it fares now. */
function isFailure(result: unknown): boolean {
  const outcome = result as ChargeOutcome;
  return outcome.kind === 'transient' || (outcome.kind === 'unknown' && outcome.remembered !== true);
}
