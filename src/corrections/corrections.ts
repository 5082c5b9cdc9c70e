import type { FollowUps } from '../followUps/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { PacedProvider } from '../paying/pacedProvider.ts';
import type { Instance } from '../platform/instance.ts';

/** What every correction works with. */
export interface CorrectionParts {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  provider: Pick<PacedProvider, 'within'>;
  followUps: FollowUps;
  instance: Pick<Instance, 'clock' | 'name'>;
}

/** Why a correction was not made. Nothing was changed, except for a payment that was found. */
export type NotCorrected =
  | { kind: 'notFound' }
  /** Its state does not allow it. */
  | { kind: 'refused'; status: InvoiceStatus }
  /** The provider has a payment for it. It is recorded: the invoice is paid or processing now. */
  | { kind: 'recorded'; from: InvoiceStatus; status: 'paid' | 'processing'; paymentId: string }
  /** A charge may have gone through, so this cannot be done. */
  | { kind: 'mayBeCharged' }
  /** A call may still be on its way to the provider until then (ISO 8601). */
  | { kind: 'wait'; until: string }
  /** The provider has something that a person has to look at. */
  | { kind: 'unclear'; message: string }
  /** The provider does not cancel the payment. */
  | { kind: 'notCanceled'; paymentId: string; message: string }
  /** The provider could not say. */
  | { kind: 'silent'; message: string }
  /** Others changed the invoice each time before this could be written. */
  | { kind: 'contended' };

/** The invoice as it is now, and as it was. */
export interface Corrected {
  from: InvoiceStatus;
  invoice: Invoice;
}
