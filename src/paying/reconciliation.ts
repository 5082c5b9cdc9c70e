import { z } from 'zod';
import type { FollowUp } from '../invoice/followUps.ts';
import { type Invoice, wasVoided } from '../invoice/invoice.ts';
import { defineStage, type Stage } from '../workItems/workItem.ts';
import { type LookUpParts, lookUpInvoice, NotReconciled } from './lookUpInvoice.ts';

/**
 * For this long after an invoice was parked, in milliseconds, a search that finds no payment proves nothing. Stripe usually
 * shows a payment within a minute, but later during an outage (https://docs.stripe.com/search#data-freshness), and that is
 * when invoices are parked.
 */
const searchUncertainMs = 3_600_000;

/**
 * How long after the last call the provider is first asked, in milliseconds: Stripe's search usually shows a payment within
 * a minute (https://docs.stripe.com/search#data-freshness).
 */
const searchLagMs = 90_000;

const stageName = 'reconcile';

/** Orders the look-up of an invoice that is parked although it may have been charged. */
export const reconciliationFollowUp: FollowUp = {
  name: stageName,
  on: ['parked'],
  delayMs: searchLagMs,
  order({ invoice: { invoiceId, keyNumber }, end }, { occasion }) {
    if (end.kind !== 'parked' || !end.unknown) return undefined;
    return { resourceId: invoiceId, stage: stageName, occasion, input: { keyNumber } };
  },
};

/**
 * The stage that looks a parked invoice up at the provider. If a payment is found, the invoice was charged, so it becomes
 * paid and its receipt is ordered; if the payment is alive, it is followed. If none is found for an hour, or one with
 * another amount, or one whose money has gone back, the invoice stays parked, and its timeline says so; to try again is
 * then for a person to decide. Nothing is ever charged here.
 */
export function reconciliationStage(parts: LookUpParts): Stage {
  return defineStage({
    name: stageName,
    input: z.object({ keyNumber: z.int().min(1) }),
    async handle({ keyNumber }, { resourceId: id, assertHeld, tries = 0 }) {
      const invoice = await parts.invoices.find(id);
      if (invoice === undefined || !isUnclear(invoice, keyNumber)) {
        // This read may be older than the settlement that parked it.
        if (tries === 0) throw new NotReconciled('the invoice is not parked, as far as is known');
        return { result: 'decided meanwhile' };
      }
      const mayLag = (now: number) => now - parkedAt(invoice) < searchUncertainMs;
      return lookUpInvoice(parts, invoice, { found: 'by reconciliation', mayLag, assertHeld });
    },
  });
}

/** Whether there is still something to find out: a person may have decided meanwhile. */
export function isUnclear(invoice: Invoice, keyNumber: number): boolean {
  const { status, payment } = invoice;
  return status === 'parked' && payment.keyNumber === keyNumber && !wasVoided(invoice);
}

/** Milliseconds since the epoch; 0 if the timeline does not say, as after an edit by hand. */
function parkedAt({ timeline }: Invoice): number {
  const at = timeline.findLast(({ what }) => what === 'parked')?.at;
  return at === undefined ? 0 : Date.parse(at);
}
