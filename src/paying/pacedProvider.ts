import type { Instance } from '@payonce/jobs/instance';
import { createPacer, type Pacer, type PacerParts, type Place, type Turn } from '@payonce/jobs/rate';
import { noteInSpan } from '@payonce/jobs/tracing';
import { metric } from '../platform/appMetrics.ts';
import { paceLimits } from '../platform/azureNames.ts';
import type { AccountAdmission } from './accountCheck.ts';
import type {
  BlockedCall,
  CallWindow,
  NotCalled,
  PacedProvider,
  PaymentProvider,
  ProviderFault,
  RateLimited,
} from './paymentProvider.ts';

/** Delay before a call that met another one at work on the same object is made again (ms). */
const busyMs = 1_000;

type Reporting = Pick<Instance, 'clock' | 'telemetry' | 'log'>;

/** The gates of a call beside its turn. Tests replace them. */
interface CallGates {
  /** The account, asked before the call waits for its turn. */
  admission?: () => Promise<AccountAdmission>;
  breaker?: CircuitBreaker;
}

/**
 * Makes each call in the account of the deployment, when its turn comes, while its window lasts and unless the provider fails
 * broadly: docs/gates.md. A call that the provider refuses because there are too many is made again at its next turn, ahead of
 * those that have not been made yet. That costs only time: it is no outcome, and no failure.
 */
export function pacedProvider(
  provider: PaymentProvider,
  pacers: PaymentPace,
  { clock, telemetry, log }: Reporting,
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
  ): Promise<T | NotCalled | BlockedCall> {
    const admitted = await admission();
    if (admitted.kind !== 'same') return admitted;
    for (let place: Place = 'inLine'; ; place = 'first') {
      const turn = await pacer.turn(before, place);
      if (turn === undefined) return { kind: 'notCalled' };
      if (!mayCall()) {
        turn.unused();
        return { kind: 'notCalled' };
      }
      const began = clock.monotonic();
      const outcome = await breaker(() => call(admitted.deployment)).catch((error: unknown) => {
        turn.answered();
        throw error;
      });
      if (outcome.kind === 'blocked') {
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
        await clock.sleep(Math.max(0, Math.min(busyMs, before - clock.monotonic())));
      }
    }
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
interface PaymentPace {
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

/** Window in which calls are counted, and time that the circuit stays open until one call may try again (ms). */
const windowMs = 10_000;
export const openMs = 10_000;

/** With an answer within the window, this many failures, and more failures than answers, open the circuit. */
const fewestFailures = 3;
/** Calls of the window that count, at most: a provider that served thousands and fails is known to fail at once. */
const mostCounted = 100;

/** Times are of the monotonic clock: a step of the wall clock neither opens the circuit nor keeps it open. */
type State = { kind: 'closed' } | { kind: 'open'; untilMs: number } | { kind: 'halfOpen' };

/** The part of an answer that the breaker looks at. */
interface CallAnswer {
  kind: string;
  message?: string;
  remembered?: true;
  answered?: true;
  fault?: ProviderFault;
}

/** Makes a call, or says that none is made at the moment. */
type CircuitBreaker = <T extends CallAnswer>(call: () => Promise<T>) => Promise<T | BlockedCall>;

/**
 * Stops calling a provider when most calls fail, and says so. Charges and look-ups count alike. Declines are answers, and so are a
 * look-up that finds nothing, a bad request, and a refusal because there are too many calls, which the pace follows.
 *
 * - closed: every call is made. It opens when most calls of the last ten seconds have failed; at once, if nothing was
 *   answered in that time and the provider is unreachable or refuses our key, so that one call in a while is enough.
 * - open, for `openMs`: no call is made, so the invoices wait and none is declined or parked.
 * - half open: one call is made. An answer closes the circuit, a failure opens it again. Others are refused until then: if they
 *   waited, a call could take up to twice its time-out.
 */
export function circuitBreaker({ clock, telemetry, log }: Reporting): CircuitBreaker {
  let state: State = { kind: 'closed' };
  const recent: { atMs: number; failed: boolean }[] = [];
  let last: CallAnswer | undefined;
  let inARow = 0;
  const message = 'calls are blocked, since the provider fails broadly';
  const blocked: BlockedCall = { kind: 'blocked', message, retryAfterMs: openMs };

  return async (call) => {
    if (state.kind === 'halfOpen') return blocked;
    if (state.kind === 'open' && clock.monotonic() < state.untilMs) return blocked;
    const isTrial = state.kind === 'open';
    if (isTrial) state = { kind: 'halfOpen' };
    let failed = true;
    try {
      const answer = await call();
      failed = isFailure(answer);
      const now = clock.monotonic();
      recent.push({ atMs: now, failed });
      while (recent.length > mostCounted || (recent[0]?.atMs ?? now) <= now - windowMs) recent.shift();
      inARow = failed ? inARow + 1 : 0;
      if (failed) last = answer;
      // If the provider fails at other calls too, the unknown outcome is not the payment's doing.
      const outage = failed && answer.kind === 'unknown' && (state.kind !== 'closed' || inARow > 1);
      return outage ? { ...answer, outage } : answer;
    } finally {
      if (isTrial && !failed) close();
      else if (isTrial || (failed && state.kind === 'closed' && areFailing())) open();
    }
  };

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
