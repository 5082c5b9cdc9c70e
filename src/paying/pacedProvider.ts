import type { Admission } from '../pacing/admissions.ts';
import { createPacer, type Pacer, type PacerParts } from '../pacing/pacer.ts';
import type { Place, Turn } from '../pacing/turns.ts';
import { metric } from '../platform/appMetrics.ts';
import { paceLimits } from '../platform/azureNames.ts';
import type { Instance } from '../platform/instance.ts';
import { noteInSpan } from '../platform/tracing.ts';
import type { CallAdmission } from './accountCheck.ts';
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

/** How long a call of queued or timed work waits for its turn, in milliseconds, before it is put off. */
export const turnWithinMs = 30_000;

/** Why a call was not made. */
export const noTurn = 'its turn did not come in time, or payments are paused';

/** How long the question whether a call is held back may take for its turn to be used, in milliseconds. */
const longestAskMs = 1_000;

/** How soon a call is made again if another one was busy with the same object, in milliseconds. */
const busyMs = 1_000;

/**
 * Makes each call when its turn comes. A call that the provider refuses because there are too many is made again at its
 * next turn, ahead of those that have not been made yet. That costs only time: it is no outcome, and no failure.
 */
export function pacedProvider(
  provider: PaymentProvider,
  pacers: PaymentPace,
  { clock, telemetry }: Pick<Instance, 'clock' | 'telemetry'>,
  /** Asked at each turn; if the answer takes long, the call waits for another one. */
  admission: () => Promise<CallAdmission> = async () => ({ kind: 'same' }),
): PacedProvider {
  return {
    within: (window) => ({
      charge: (request) =>
        inTurn(pacers.charges, window, (deployment) => provider.charge(inName(request, deployment))),
      ...lookups((call) => inTurn(pacers.lookups, window, call)),
    }),
    admit: (calls, before) => pacers.charges.admit(calls, before),
  };

  /** Every call but a charge. */
  function lookups(
    turn: <Outcome extends { kind: string }>(
      call: (deployment: string | undefined) => Promise<Outcome | RateLimited>,
    ) => Promise<Outcome | NotCalled | HeldBack>,
  ): Omit<PaymentCalls, 'charge'> {
    return {
      find: (sought) =>
        turn((deployment) => provider.find(deployment === undefined ? sought : { ...sought, deployment })),
      retrieve: (id) => turn((deployment) => provider.retrieve(id, deployment)),
      cancel: (id) => turn(() => provider.cancel(id)),
      refund: (request) => turn((deployment) => provider.refund(inName(request, deployment))),
      defaultMethod: (customerId) => turn(() => provider.defaultMethod(customerId)),
    };
  }

  async function inTurn<Outcome extends { kind: string }>(
    pacer: Pick<Pacer, 'turn'>,
    { before, mayCall = () => true }: CallWindow,
    call: (deployment: string | undefined) => Promise<Outcome | RateLimited>,
  ): Promise<Outcome | NotCalled | HeldBack> {
    for (let place: Place = 'inLine'; ; place = 'first') {
      const turn = await pacer.turn(before, place);
      if (turn === undefined) return { kind: 'notCalled' };
      const came = clock.monotonic();
      const admitted = await admission();
      if (admitted.kind === 'heldBack') {
        turn.unused();
        return admitted;
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
      const outcome = await call(admitted.deployment).catch((error: unknown) => {
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
      if (!isRateLimited(outcome)) {
        turn.answered();
        return outcome;
      }
      if (outcome.overRate) turn.refused(outcome.retryAfterMs);
      else {
        turn.answered();
        await clock.sleep(Math.max(0, Math.min(busyMs, before - clock.monotonic())));
      }
    }
  }
}

/** The request under a key that no other deployment of the account uses. */
function inName<Request extends { idempotencyKey: string }>(
  request: Request,
  deployment: string | undefined,
) {
  if (deployment === undefined) return request;
  return { ...request, deployment, idempotencyKey: `${deployment}-${request.idempotencyKey}` };
}

function isRateLimited(outcome: { kind: string }): outcome is RateLimited {
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
