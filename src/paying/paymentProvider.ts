import type { Admission } from '@payonce/jobs/rate';

/** One charge of one invoice. Under one idempotency key every other field is always the same. */
export interface ChargeRequest {
  invoiceId: string;
  /** Integer minor units of the currency, by its ISO 4217 exponent. */
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  customerId: string;
  paymentMethod: string;
  /** The types of payment methods that may be used, in Stripe's words. Absent: cards only. */
  methodTypes?: readonly string[];
  description?: string;
  idempotencyKey: string;
  /** Name of the deployment that charges. */
  deployment?: string;
}

/**
 * The provider takes no more calls at the moment, so it did nothing. It costs only time: the call is made again when its
 * next turn comes. `overRate`: there were too many calls; otherwise another call is busy with the same object.
 */
export interface RateLimited {
  kind: 'rateLimited';
  overRate: boolean;
  message: string;
  retryAfterMs?: number;
}

/** No call was made, because most calls fail at the moment. */
export interface BlockedCall {
  kind: 'blocked';
  message: string;
  retryAfterMs: number;
}

/** No call was made: its turn did not come in time, or the batch may make no more calls. */
export interface NotCalled {
  kind: 'notCalled';
}

/**
 * Fault of the provider itself: it refuses our API key or account, or it answers with a failure. Absent: it gave no answer, or
 * its answer was about the request.
 */
export type ProviderFault = 'keyRejected' | 'badAnswer';

/** Outcome of a charge, as far as it is known. */
export type ChargeOutcome =
  /** `reversals`: some of the money has gone back since, or may. */
  | { kind: 'succeeded'; paymentId: string; reversals?: ProviderReversals }
  /** The payment is alive: it will end some day, without another call. `state` is the provider's word for it. */
  | { kind: 'processing'; paymentId: string; state: string }
  /** It was charged once, and all of it has gone back since. */
  | { kind: 'reversed'; message: string }
  /** Soft: it may work another day. Hard: it never will. */
  | { kind: 'declined'; severity: 'soft' | 'hard'; code: string; message: string }
  | BlockedCall
  /** Certainly not charged. */
  | { kind: 'transient'; code: string; message: string; retryAfterMs?: number; fault?: ProviderFault }
  /**
   * It may have been charged. Ask again with the same key, and the provider answers with what it did; `remembered`: it
   * will only repeat this answer. `outage`: it fails at other calls too, so this says nothing about the payment.
   */
  | { kind: 'unknown'; message: string; remembered?: true; fault?: ProviderFault; outage?: true }
  /** The provider cannot take the request, for example because it knows no such payment method. */
  | { kind: 'refused'; code: string; message: string }
  /** The key was used with other parameters before: a bug on our side, for a person to look at. */
  | { kind: 'keyReused'; message: string };

/** Criteria that a payment must match to be the payment of an invoice. */
export type SoughtPayment = Pick<
  ChargeRequest,
  'invoiceId' | 'amountMinor' | 'currency' | 'customerId' | 'deployment'
> & {
  /** ISO 8601: no call for this invoice was made before. Absent: unknown. */
  since?: string;
  /** ISO 8601: no call under its key was made later. Absent: any time. */
  until?: string;
};

/** The result of a look-up by metadata. */
export type FoundPayment =
  /** `reversals`: some of the money has gone back, or may. */
  | { kind: 'found'; paymentId: string; reversals?: ProviderReversals }
  /** It has not ended yet. `state` is the provider's word for it. */
  | { kind: 'processing'; paymentId: string; state: string }
  /** It succeeded, and all of its money has gone back: it makes no invoice a paid one. */
  | { kind: 'reversed'; paymentId: string; message: string }
  /**
   * `foreign`: payments that name the invoice, of other customers or deployments. `unlisted`: the list of the
   * customer's payments cannot decide, since the provider does not know the customer any more, or never did, or has too many
   * payments of theirs. Only a person may conclude then that nothing was charged.
   */
  | { kind: 'notFound'; foreign?: readonly string[]; unlisted?: 'deleted' | 'unknown' | 'tooMany' }
  /** Paid under this invoice's id, but with another amount or currency: a person decides whether that settles it. */
  | { kind: 'differs'; paymentId: string; message: string }
  | BlockedCall
  | ProviderSilent;

/** The provider could not say. `answered`: it refused the request as such, so it is there, and the question is still open. */
export type ProviderSilent = { kind: 'unknown'; message: string; fault?: ProviderFault; answered?: true };

/** Progress of a payment. `failed`: it ended without moving money, and why. */
export type PaymentProgress =
  | { kind: 'succeeded' }
  /** `waitsForCustomer`: it goes on only if the customer acts, and there is none present. */
  | { kind: 'alive'; state: string; waitsForCustomer?: true }
  | { kind: 'failed'; severity: 'soft' | 'hard'; code: string; message: string }
  | { kind: 'canceled' };

/** A payment's refunds and disputes, as the provider has them. Times are ISO 8601, UTC. */
export interface ProviderReversals {
  refunds: readonly {
    providerId: string;
    /** Our own id, if it was asked for through ops. */
    refundId?: string;
    amountMinor: number;
    status: 'pending' | 'succeeded' | 'failed' | 'canceled';
    at: string;
    reason?: string;
    failure?: string;
  }[];
  disputes: readonly {
    id: string;
    amountMinor: number;
    /** ISO 4217, upper case. Absent: that of the payment. */
    currency?: string;
    status: 'open' | 'won' | 'lost';
    at: string;
    reason: string;
    /** Until then it takes evidence. Absent: it takes none. */
    evidenceDueAt?: string;
  }[];
}

/** A payment as the provider has it now. */
export interface ProviderPayment {
  kind: 'payment';
  paymentId: string;
  /** The invoice that it was made for, by its metadata. Absent: it is none of ours. */
  invoiceId?: string;
  /**
   * The deployment that it names: the one that asks, or another. Absent: it names none, so no charge of ours made it; or
   * nobody in particular asks.
   */
  madeBy?: 'us' | 'others';
  customerId?: string;
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  progress: PaymentProgress;
  reversals: ProviderReversals;
}

export type RetrievedPayment = ProviderPayment | { kind: 'notFound' } | BlockedCall | ProviderSilent;

/** `refused`: it can no longer be canceled, or has ended; `message` says how it stands. */
export type CancelOutcome =
  | { kind: 'canceled' }
  | { kind: 'refused'; message: string }
  | BlockedCall
  | ProviderSilent;

export interface RefundRequest {
  paymentId: string;
  invoiceId: string;
  /** Ours; it comes back with the refund wherever the provider shows it. */
  refundId: string;
  amountMinor: number;
  currency: string;
  idempotencyKey: string;
}

export type RefundOutcome =
  | { kind: 'refunded'; providerId: string; status: 'pending' | 'succeeded' | 'failed' | 'canceled' }
  /** The provider does not make this refund: more than is left, disputed, too old. Nothing has gone back. */
  | { kind: 'refused'; code: string; message: string }
  /** Nothing has gone back, and later it may work. */
  | { kind: 'transient'; code: string; message: string; fault?: ProviderFault }
  | BlockedCall
  /** It may have been made: ask again with the same key. */
  | ProviderSilent;

export type DefaultMethod =
  | { kind: 'method'; id: string }
  /** The customer has none, or there is no such customer. */
  | { kind: 'none'; message: string }
  | BlockedCall
  | ProviderSilent;

/** Account and mode of the calls, in which alone a key means something. No `id`: the key may not read it; `message` says why. */
export type AccountAnswer =
  | { kind: 'account'; id?: string; mode: 'live' | 'test'; message?: string }
  | ProviderSilent;

/**
 * The payment provider, which is Stripe. Every call resolves whatever the provider answers; they reject only on a bug in this
 * code.
 */
export interface PaymentProvider {
  charge(request: ChargeRequest): Promise<ChargeOutcome | RateLimited>;
  /**
   * Looks a payment up by the invoice's id, for keys that are too old to be sent again. Whatever is alive or was ever paid
   * counts; a payment that has failed or was canceled does not. An invoice for which none is found, and none again an hour
   * later, is charged anew: a look-up that may miss an older payment has to answer `unknown`.
   */
  find(sought: SoughtPayment): Promise<FoundPayment | RateLimited>;
  /** A payment by its id, as it is now; `deployment` is the name of the one that asks. */
  retrieve(paymentId: string, deployment?: string): Promise<RetrievedPayment | RateLimited>;
  /** Cancels a payment that has not ended. */
  cancel(paymentId: string): Promise<CancelOutcome | RateLimited>;
  refund(request: RefundRequest): Promise<RefundOutcome | RateLimited>;
  /** The payment method that a customer has chosen to be charged with. */
  defaultMethod(customerId: string): Promise<DefaultMethod | RateLimited>;
}

/** The account that the secret key belongs to. Asked for no payment: the circuit breaker does not apply. */
export interface ProviderAccount {
  account(): Promise<AccountAnswer | RateLimited>;
}

/** The same calls, each made when its turn comes (pacedProvider.ts). */
export interface PaymentCalls {
  charge(request: ChargeRequest): Promise<ChargeOutcome | NotCalled>;
  find(sought: SoughtPayment): Promise<FoundPayment | NotCalled>;
  retrieve(paymentId: string): Promise<RetrievedPayment | NotCalled>;
  cancel(paymentId: string): Promise<CancelOutcome | NotCalled>;
  refund(request: RefundRequest): Promise<RefundOutcome | NotCalled>;
  defaultMethod(customerId: string): Promise<DefaultMethod | NotCalled>;
}

/** The window in which calls may wait for their turn. */
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

/** An event's hint about its payment. `reversed`: a refund or dispute of it has moved. */
export const eventHints = ['succeeded', 'failed', 'alive', 'reversed'] as const;
export type EventHint = (typeof eventHints)[number];

/** An event of the provider that may be about one of our payments. It is a hint to look, never the truth. */
export interface ProviderEvent {
  /** The provider's, at most 100 characters that any id may have. */
  eventId: string;
  hint: EventHint;
  /** At most 100 characters, like the event's id. */
  paymentId: string;
  /** Absent: only the payment itself tells. */
  invoiceId?: string;
}

/** Kinds of text from the provider. */
export type ReadEvent =
  | { kind: 'event'; event: ProviderEvent }
  /** An event of a kind that changes nothing here, or about a payment that is none of ours. */
  | { kind: 'irrelevant' }
  | { kind: 'malformed' }
  /** It has no signature of the provider, or an old one, and was not parsed. */
  | { kind: 'forged' };

/** Reads an event as it is delivered: the raw body, and the header that signs it. */
export type ReadSignedEvent = (body: Uint8Array, signature: string | null) => ReadEvent;

/** Which events to list, by when they happened, in seconds since the epoch on the provider's clock. */
export interface EventQuery {
  from: number;
  /** Exclusive. Absent: up to now. */
  until?: number;
  /** The `next` of the page before. */
  after?: string;
}

export interface EventPage {
  kind: 'page';
  /** Events that may be about our payments. */
  events: readonly ProviderEvent[];
  /** When the latest event of the page happened, ours or not. Absent: the page is empty. */
  latest?: number;
  /** Names the next page. Absent: this is the last. */
  next?: string;
}

/** The provider's own record of its events, newest first. The call resolves whatever the provider answers. */
export interface ProviderEvents {
  list(query: EventQuery): Promise<EventPage | RateLimited | ProviderSilent>;
}
