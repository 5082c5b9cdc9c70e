/** One charge of one invoice. Under one idempotency key every other field is always the same. */
export interface ChargeRequest {
  invoiceId: string;
  /** Integer minor units of the currency, by its ISO 4217 exponent. */
  amountMinor: number;
  /** ISO 4217, upper case. */
  currency: string;
  customerId: string;
  paymentMethod: string;
  description?: string;
  idempotencyKey: string;
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
export interface HeldBack {
  kind: 'heldBack';
  message: string;
  retryAfterMs: number;
}

/** No call was made: its turn did not come in time, or the batch may make no more calls. */
export interface NotCalled {
  kind: 'notCalled';
}

/** What is known after a charge. */
export type ChargeOutcome =
  | { kind: 'succeeded'; paymentId: string }
  /** Soft: it may work another day. Hard: it never will. */
  | { kind: 'declined'; severity: 'soft' | 'hard'; code: string; message: string }
  | HeldBack
  /** Certainly not charged. */
  | { kind: 'transient'; code: string; message: string; retryAfterMs?: number }
  /** It may have been charged. Ask again with the same key, and the provider answers with what it did. */
  | {
      kind: 'unknown';
      message: string;
      /** The provider remembers this answer under the key: asking again only repeats it. */
      remembered?: true;
    }
  /** The provider cannot take the request, for example because it knows no such payment method. */
  | { kind: 'refused'; code: string; message: string }
  /** The key was used with other parameters before: a bug on our side, for a person to look at. */
  | { kind: 'keyReused'; message: string };

/** What a payment must match to be the payment of an invoice. */
export type SoughtPayment = Pick<ChargeRequest, 'invoiceId' | 'amountMinor' | 'currency'>;

/** The result of a look-up by metadata. */
export type FoundPayment =
  | { kind: 'found'; paymentId: string }
  | { kind: 'notFound' }
  /** Paid under this invoice's id, but with another amount or currency: a person decides whether that settles it. */
  | { kind: 'differs'; message: string }
  | HeldBack
  /** The provider could not say. */
  | { kind: 'unknown'; message: string };

/** The payment provider. Both calls resolve whatever the provider answers; they reject only on a bug in this code. */
export interface PaymentProvider {
  charge(request: ChargeRequest): Promise<ChargeOutcome | RateLimited>;
  /** Looks up a successful payment by the invoice's id, for keys that are too old to be sent again. */
  find(sought: SoughtPayment): Promise<FoundPayment | RateLimited>;
}

/** The same calls, each made when its turn comes (pacedProvider.ts). */
export interface PaymentCalls {
  charge(request: ChargeRequest): Promise<ChargeOutcome | NotCalled>;
  find(sought: SoughtPayment): Promise<FoundPayment | NotCalled>;
}
