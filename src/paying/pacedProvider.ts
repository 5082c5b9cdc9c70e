import type { Admission } from '../pacing/admissions.ts';
import { createPacer, type Pacer, type PacerParts } from '../pacing/pacer.ts';
import type { Place, Turn } from '../pacing/turns.ts';
import { metric } from '../platform/appMetrics.ts';
import { paceLimits } from '../platform/azureNames.ts';
import type { Instance } from '../platform/instance.ts';
import { noteInSpan } from '../platform/tracing.ts';
import type { AccountAdmission } from './accountCheck.ts';
import { type CallAnswer, type CircuitBreaker, circuitBreaker } from './circuitBreaker.ts';
import type { HeldBack, NotCalled, PaymentCalls, PaymentProvider, RateLimited } from './paymentProvider.ts';

/** For how long calls may wait for their turn. */
export interface CallWindow {
  /** On the monotonic clock, in milliseconds. */
  before: number;
  /** Asked right before each call. Absent: yes. */
  mayCall?: () => boolean;
}

/** A payment provider whose calls wait for their turn, such that all instances together keep to its allowance. */
export interface PacedProvider {
  /** The calls that may be made within a window. */
  within(window: CallWindow): PaymentCalls;
  /** Lets a batch with this many calls in, shortly before they can be made; undefined if the window is over by then. */
  admit(calls: number, before: number): Promise<Admission | undefined>;
}

/** Longest wait of a call of queued or timed work for its turn (ms). */
export const turnWithinMs = 30_000;

/** Why a call was not made. */
export const noTurn = 'its turn did not come in time, or payments are paused';

/** Longest time to ask for the account for the turn to be used (ms). */
const longestAskMs = 1_000;

/** Delay before a call that met another one at work on the same object is made again (ms). */
const busyMs = 1_000;

/** The gates of a call behind its turn. Tests replace them. */
export interface CallGates {
  /** The account, asked at each turn; if the answer takes long, the call waits for another one. */
  admission?: () => Promise<AccountAdmission>;
  breaker?: CircuitBreaker;
}

/**
 * Makes each call when its turn comes, in the account of the deployment, while its window lasts and unless the provider fails
 * broadly: docs/gates.md. A call that the provider refuses because there are too many is made again at its next turn, ahead of
 * those that have not been made yet. That costs only time: it is no outcome, and no failure.
 */
export function pacedProvider(
  provider: PaymentProvider,
  pacers: PaymentPace,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  {
    admission = async () => ({ kind: 'same' }),
    breaker = circuitBreaker({ clock, telemetry, log }),
  }: CallGates = {},
): PacedProvider {
  return {
    within(window) {
      const lookup = <T extends CallAnswer>(call: Call<T>) => inTurn(pacers.lookups, window, call);
      return {
        charge: (request) =>
          inTurn(pacers.charges, window, (deployment) => provider.charge(inName(request, deployment))),
        find: (sought) =>
          lookup((deployment) =>
            provider.find(deployment === undefined ? sought : { ...sought, deployment }),
          ),
        retrieve: (id) => lookup((deployment) => provider.retrieve(id, deployment)),
        cancel: (id) => lookup(() => provider.cancel(id)),
        refund: (request) => lookup((deployment) => provider.refund(inName(request, deployment))),
        defaultMethod: (customerId) => lookup(() => provider.defaultMethod(customerId)),
      };
    },
    admit: (calls, before) => pacers.charges.admit(calls, before),
  };

  async function inTurn<T extends CallAnswer>(
    pacer: Pick<Pacer, 'turn'>,
    { before, mayCall = () => true }: CallWindow,
    call: Call<T>,
  ): Promise<T | NotCalled | HeldBack> {
    for (let place: Place = 'inLine'; ; place = 'first') {
      const turn = await pacer.turn(before, place);
      if (turn === undefined) return { kind: 'notCalled' };
      const came = clock.monotonic();
      const admitted = await admission();
      if (admitted.kind !== 'same') turn.unused();
      if (admitted.kind === 'heldBack') return admitted;
      if (admitted.kind === 'rateLimited') {
        await waitFor(admitted.retryAfterMs ?? busyMs, before);
        continue;
      }
      // Much may have changed meanwhile: a pause may have begun, and others have had their turns.
      if (clock.monotonic() - came > longestAskMs) {
        turn.unused();
        continue;
      }
      if (!mayCall()) {
        turn.unused();
        return { kind: 'notCalled' };
      }
      const began = clock.monotonic();
      const outcome = await breaker(() => call(admitted.deployment)).catch((error: unknown) => {
        turn.answered();
        throw error;
      });
      if (outcome.kind === 'heldBack') {
        turn.unused();
        return outcome;
      }
      const callMs = clock.monotonic() - began;
      telemetry.record(metric.paymentCallMs, callMs);
      noteInSpan({ 'payment.call_ms': Math.round(callMs) });
      // One refused call is enough for the alert: there may be few.
      if ('fault' in outcome && outcome.fault === 'keyRejected')
        telemetry.record(metric.providerKeyRejected, 1);
      if (!isRateLimited(outcome)) {
        turn.answered();
        return outcome;
      }
      if (outcome.overRate) turn.refused(outcome.retryAfterMs);
      else {
        turn.answered();
        await waitFor(busyMs, before);
      }
    }
  }

  async function waitFor(ms: number, before: number): Promise<void> {
    await clock.sleep(Math.max(0, Math.min(ms, before - clock.monotonic())));
  }
}

/** A call in the name of a deployment. */
type Call<T extends CallAnswer> = (deployment: string | undefined) => Promise<T | RateLimited>;

/** The request under a key that no other deployment of the account uses. */
function inName<Request extends { idempotencyKey: string }>(
  request: Request,
  deployment: string | undefined,
) {
  if (deployment === undefined) return request;
  return { ...request, deployment, idempotencyKey: `${deployment}-${request.idempotencyKey}` };
}

function isRateLimited(outcome: CallAnswer): outcome is RateLimited {
  return outcome.kind === 'rateLimited';
}

/** Searches per second that Stripe allows (https://docs.stripe.com/rate-limits). */
const lookupsPerSecond = 20;

export interface PaymentAllowance {
  /** Charges per second of the whole account, at most. */
  rate: number;
  /** Calls of every kind per second of the whole account. */
  accountRate: number;
}

/** The turns of one process, by kind of call. */
export interface PaymentPace {
  charges: Pacer;
  lookups: Pick<Pacer, 'turn'>;
}

/**
 * Shares an account's allowance among all instances. Look-ups have a limit of their own. Where the account's does not hold
 * both, as in a sandbox, a look-up needs a turn of the charges too, and takes what they leave.
 */
export function paymentPace(parts: PacerParts, { rate, accountRate }: PaymentAllowance): PaymentPace {
  const charges = createPacer(parts, { limit: paceLimits.charges, ceiling: Math.min(rate, accountRate) });
  const ceiling = Math.min(lookupsPerSecond, accountRate);
  const lookups = createPacer(parts, { limit: paceLimits.lookups, ceiling });
  if (rate + ceiling <= accountRate) return { charges, lookups };
  return {
    charges,
    lookups: {
      async turn(before, place) {
        const own = await lookups.turn(before, place);
        if (own === undefined) return undefined;
        const shared = await charges.turn(before, 'last');
        if (shared === undefined) own.unused();
        return shared && both(own, shared);
      },
    },
  };
}

function both(one: Turn, other: Turn): Turn {
  return {
    answered() {
      one.answered();
      other.answered();
    },
    refused(retryAfterMs) {
      one.refused(retryAfterMs);
      other.refused(retryAfterMs);
    },
    unused() {
      one.unused();
      other.unused();
    },
  };
}
