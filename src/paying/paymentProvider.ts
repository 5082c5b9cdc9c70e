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

/** What is known after a call. */
export type ChargeOutcome =
  | { kind: 'succeeded'; paymentId: string }
  /** Soft: it may work another day. Hard: it never will. */
  | { kind: 'declined'; severity: 'soft' | 'hard'; code: string; message: string }
  /** Surely not charged. */
  | { kind: 'transient'; code: string; message: string; retryAfterMs?: number }
  /** It may have been charged: ask again with the same key, the provider answers with what it did. */
  | {
      kind: 'unknown';
      message: string;
      /** The answer is one that the provider remembers under the key: asking again will only bring it again. */
      remembered?: true;
    }
  /** The provider cannot take the request as it is, for example because it knows no such payment method. */
  | { kind: 'refused'; code: string; message: string }
  /** The key was used with other parameters before: a bug on our side, for a person to look at. */
  | { kind: 'keyReused'; message: string };

/** What a payment must be equal to, to be that of an invoice. */
export type SoughtPayment = Pick<ChargeRequest, 'invoiceId' | 'amountMinor' | 'currency'>;

/** What a look-up by metadata says. */
export type FoundPayment =
  | { kind: 'found'; paymentId: string }
  | { kind: 'notFound' }
  /** Paid under this invoice's id, but another amount or currency: whether that settles it is for a person to say. */
  | { kind: 'differs'; message: string }
  /** The provider could not say. */
  | { kind: 'unknown'; message: string };

/** Whoever moves the money. Both calls resolve whatever the provider says; they reject on a mistake in this code only. */
export interface PaymentProvider {
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /** Looks a successful payment up by the invoice's id, for keys that are too old to be sent again. */
  find(sought: SoughtPayment): Promise<FoundPayment>;
}
