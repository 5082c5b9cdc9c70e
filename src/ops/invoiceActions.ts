import { decideDueDate } from '../corrections/decideDueDate.ts';
import { decideRetry } from '../corrections/decideRetry.ts';
import { decideVoid } from '../corrections/decideVoid.ts';
import type { Invoice } from '../invoice/invoice.ts';

/** Whether a person may do it now, and why not. */
export type Permitted = { allowed: true } | { allowed: false; why: string };

/**
 * What may be done with an invoice as it is stored; decided as the calls themselves decide. A call may still refuse, because
 * the provider has another word to say, or because the invoice has changed. Pure.
 */
export function invoiceActions(invoice: Invoice, refunds: boolean): Record<InvoiceAction, Permitted> {
  return {
    retry: retryOf(invoice),
    void: voidOf(invoice),
    refund: refundOf(invoice, refunds),
    moveDueDate: dueDateOf(invoice),
  };
}

export type InvoiceAction = 'retry' | 'void' | 'refund' | 'moveDueDate';

const yes: Permitted = { allowed: true };
const no = (why: string): Permitted => ({ allowed: false, why });

function retryOf(invoice: Invoice): Permitted {
  return decideRetry(invoice).kind === 'refused'
    ? no(`It is ${invoice.status}: only parked and declined invoices are retried.`)
    : yes;
}

function voidOf(invoice: Invoice): Permitted {
  if (decideVoid(invoice).kind !== 'refuse') return yes;
  switch (invoice.status) {
    case 'paid':
      return no('It is paid: refund it instead.');
    case 'voided':
      return no('It is voided already.');
    case 'pending':
    case 'claimed':
    case 'processing':
    case 'declined':
    case 'parked':
      return no('It is being paid right now: try again in a few minutes.');
  }
}

function refundOf({ status, amountMinor, reversals }: Invoice, offered: boolean): Permitted {
  if (status !== 'paid') return no(`It is ${status}: only paid invoices are refunded.`);
  if (!offered) return no('The payment provider offers no refunds.');
  return amountMinor > (reversals?.refundedMinor ?? 0) ? yes : no('All of it has been refunded.');
}

function dueDateOf(invoice: Invoice): Permitted {
  const { kind } = decideDueDate(invoice, invoice.dueAt);
  switch (kind) {
    case 'move':
      return yes;
    case 'refused':
      return no(`It is ${invoice.status}: only pending invoices wait for their due date.`);
    case 'mayBeCharged':
      return no('It may have been charged: its outcome has to be known first.');
  }
}
