import { plainVersion } from '../documents/storedDocuments.ts';
import { requestForm } from './chargeForm.ts';
import type { InvoiceStatus } from './invoiceStatus.ts';

/** The version of an invoice that a release before 0.3 would get wrong. */
const lifecycleVersion = 2;

/**
 * The version that an invoice in this state is stored with. Releases that know only version 1 leave a version 2 alone: they
 * know neither payments in progress nor the customer's default, and would send a key of ours with other parameters. Once
 * the key is done with, they may have the invoice back. Pure.
 */
export function invoiceVersion({
  status,
  paymentMethod,
  payment,
}: {
  status: InvoiceStatus;
  paymentMethod?: string;
  payment: { paramsHash?: string; method?: unknown };
}): number {
  return Math.max(plainVersion, needsLifecycle() ? lifecycleVersion : 1);

  function needsLifecycle(): boolean {
    switch (status) {
      case 'processing':
      case 'voided':
        return true;
      case 'paid':
        return paymentMethod === undefined;
      case 'declined':
        return paymentMethod === undefined || payment.method !== undefined;
      case 'pending':
      case 'claimed':
      case 'parked':
        return (
          paymentMethod === undefined || payment.method !== undefined || requestForm(payment.paramsHash) > 1
        );
    }
  }
}
