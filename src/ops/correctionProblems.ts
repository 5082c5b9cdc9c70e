import type { NotCorrected } from '../corrections/corrections.ts';
import type { MovedInvoice } from '../corrections/moveDueDate.ts';
import type { RetriedInvoice } from '../corrections/retryInvoice.ts';
import type { VoidedInvoice } from '../corrections/voidInvoice.ts';
import type { InvoiceStatus } from '../invoice/invoice.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { OpsResponse } from './http.ts';
import { conflict, notFound } from './requests.ts';

/** Why an invoice was not put back to pending, and what to do. */
export function whyNotRetried(id: string, why: Exclude<RetriedInvoice, { kind: 'retried' }>): OpsResponse {
  switch (why.kind) {
    case 'refused':
      return conflict(
        `invoice "${id}" is ${why.status}: expected one that is parked or declined, or that waits for a later try`,
      );
    case 'mayBeCharged':
      return conflict(
        `invoice "${id}" may have been charged: retry it without a payment method, or find out that nothing was charged and say so with notCharged`,
      );
    case 'recorded':
      return conflict(
        `${recorded(id, why)}: ${why.status === 'paid' ? 'there is nothing to retry' : 'wait for its outcome'}`,
      );
    case 'notFound':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotCorrected(id, why);
  }
}

/** Why an invoice was not voided, and what to do. */
export function whyNotVoided(id: string, why: Exclude<VoidedInvoice, { kind: 'voided' }>): OpsResponse {
  switch (why.kind) {
    case 'refused':
      return conflict(`invoice "${id}" is ${adviceFor(why.status)}`);
    case 'recorded':
      return conflict(`${recorded(id, why)}: refund it instead`);
    case 'notCanceled':
      return conflict(
        `the provider does not cancel payment ${why.paymentId} of invoice "${id}" (${why.message}): wait for the outcome, then refund`,
      );
    case 'notFound':
    case 'wait':
    case 'unclear':
    case 'silent':
    case 'contended':
      return whyNotCorrected(id, why);
  }
}

/** Why a due date was not moved, and what to do. */
export function whyNotMoved(id: string, why: Exclude<MovedInvoice, { kind: 'moved' }>): OpsResponse {
  switch (why.kind) {
    case 'refused':
      return conflict(
        `invoice "${id}" is ${why.status}: expected one that is pending, only those wait for their due date`,
      );
    case 'mayBeCharged':
      return conflict(`invoice "${id}" may have been charged: its outcome has to be known first`);
    case 'notFound':
    case 'contended':
      return whyNotCorrected(id, why);
  }
}

/** What every correction may meet. */
function whyNotCorrected(
  id: string,
  why: Extract<NotCorrected, { kind: 'notFound' | 'wait' | 'unclear' | 'silent' | 'contended' }>,
): OpsResponse {
  switch (why.kind) {
    case 'notFound':
      return notFound(`invoice "${id}"`);
    case 'wait':
      return conflict(
        `the provider has no payment for invoice "${id}" yet, but a call may still be on its way: ask again from ${why.until} on`,
      );
    case 'unclear':
      return conflict(`invoice "${id}" needs a look at the provider first: ${why.message}`);
    case 'contended':
      return conflict(`invoice "${id}" is being changed by others: ask again`);
    case 'silent':
      return problemResponse(
        problem(
          503,
          `the provider could not say how invoice "${id}" stands, ask again later: ${why.message}`,
        ),
      );
  }
}

function recorded(id: string, { status, paymentId }: Extract<NotCorrected, { kind: 'recorded' }>): string {
  return `the provider has payment ${paymentId} for invoice "${id}", which is ${status} now`;
}

/** How an invoice stands that is not voided, and what to do. */
function adviceFor(status: InvoiceStatus): string {
  switch (status) {
    case 'claimed':
      return 'claimed: it is being paid right now, ask again in a few minutes';
    case 'paid':
      return 'paid: refund it instead';
    case 'voided':
      return 'voided already';
    case 'pending':
    case 'processing':
    case 'declined':
    case 'parked':
      return `${status}: wait for the outcome`;
  }
}
