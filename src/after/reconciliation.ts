import { defineStage, type Effect, RetryLater, RetryForADay, type Stage } from '@payonce/jobs/work-items';
import { z } from 'zod';
import type { FollowUp } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { lookedUp, wasVoided } from '../invoice/namedPayments.ts';
import { soughtOf, changeByPayment } from '../paying/foundPayment.ts';
import { turnWithinMs, type FoundPayment } from '../paying/paymentProvider.ts';
import { type AfterParts, isHeld, type Recorded, record, whySilent } from './record.ts';

/**
 * Time after the parking of an invoice in which a search that finds no payment proves nothing (ms). Stripe's lags by a minute, and
 * more during an outage (https://docs.stripe.com/search#data-freshness), when invoices are parked.
 */
const searchUncertainMs = 3_600_000;

const stageName = 'reconcile';

/** Orders the look-up of an invoice that is parked although it may have been charged. */
export const reconciliationFollowUp: FollowUp = {
  name: stageName,
  on: ['parked'],
  order({ invoice: { invoiceId, keyNumber }, end }, { occasion }) {
    if (end.kind !== 'parked' || !end.unknown) return undefined;
    return { resourceId: invoiceId, stage: stageName, occasion, input: { keyNumber } };
  },
};

type LookUpParts = Omit<AfterParts, 'settlement'>;

/**
 * The stage that looks a parked invoice up at the provider. A payment that is found is recorded. If none is found for an hour, or one
 * with another amount, or whose money has gone back, the invoice stays parked, and a person decides. Nothing is ever charged here.
 */
export function reconciliationStage(parts: LookUpParts): Stage {
  const { clock } = parts.instance;
  return defineStage({
    name: stageName,
    input: z.object({ keyNumber: z.int().min(1) }),
    async handle({ keyNumber }, { resourceId: id, assertHeld, tries = 0 }): Promise<Effect> {
      const invoice = await parts.invoices.find(id);
      if (invoice === undefined || !isUnclear(invoice, keyNumber)) {
        // This read may be older than the settlement that parked it.
        if (tries === 0) throw new RetryLater('the invoice is not parked, as far as is known');
        return { result: 'decided meanwhile' };
      }
      const calls = parts.provider.within({
        before: clock.monotonic() + turnWithinMs,
        mayCall: isHeld(assertHeld),
      });
      const seen = await calls.find(soughtOf({ ...invoice, invoiceId: id }));
      if (seen.kind === 'notCalled' || seen.kind === 'unknown' || seen.kind === 'blocked')
        throw new RetryLater(`the provider cannot say: ${whySilent(seen)}`);
      if (seen.kind === 'notFound' && mayLag(invoice))
        throw new RetryForADay('the provider finds no payment, but its search may lag');
      assertHeld();
      const { kind } = await record<{ kind: 'decided' }>(
        parts,
        id,
        (stored, now) => (isUnclear(stored, keyNumber) ? changeBy(stored, seen, now) : { kind: 'decided' }),
        assertHeld,
      );
      if (kind !== 'updated') return { result: 'decided meanwhile' };
      return seen.kind === 'found' || seen.kind === 'processing'
        ? { result: seen.kind === 'found' ? 'paid' : 'processing', paymentId: seen.paymentId }
        : { result: seen.kind === 'notFound' ? 'not found' : seen.kind };
    },
  });

  /** False if the timeline does not say when it was parked, as after an edit by hand. */
  function mayLag({ timeline }: Invoice): boolean {
    const at = timeline.findLast(({ what }) => what === 'parked')?.at;
    return at !== undefined && clock.now() - Date.parse(at) < searchUncertainMs;
  }
}

/** True while nobody has decided. */
export function isUnclear(invoice: Invoice, keyNumber: number): boolean {
  const { status, payment } = invoice;
  return status === 'parked' && payment.keyNumber === keyNumber && !wasVoided(invoice);
}

function changeBy(
  stored: Invoice,
  seen: Extract<FoundPayment, { kind: 'found' | 'processing' | 'notFound' | 'differs' | 'reversed' }>,
  now: number,
): Recorded {
  if (seen.kind === 'found' || seen.kind === 'processing') {
    const { entry, ...change } = changeByPayment(stored, seen, now);
    return { kind: 'change', ...change, entry: { ...entry, found: 'by reconciliation' } };
  }
  const reason = seen.kind === 'notFound' ? nothingFound(seen.foreign) : seen.message;
  return { kind: 'change', change: {}, entry: { what: lookedUp, reason } };
}

function nothingFound(foreign: readonly string[] = []): string {
  const others = foreign.length === 0 ? '' : `; ${foreign.join(', ')} is of another customer or deployment`;
  return `the provider finds no payment${others}`;
}
