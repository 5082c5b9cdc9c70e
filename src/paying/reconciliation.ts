import { z } from 'zod';
import { StoreAway } from '../documents/storeAway.ts';
import type { FollowUp, FollowUps } from '../followUps/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import { NotNow } from '../workItems/notNow.ts';
import { defineStage, type Stage } from '../workItems/workItem.ts';
import { soughtOf } from './chargeUnderKey.ts';
import type { PacedProvider } from './pacedProvider.ts';
import type { FoundPayment } from './paymentProvider.ts';
import { recordFoundPayment } from './recordFoundPayment.ts';

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

/** How long a look-up waits for its turn, in milliseconds, before it is put off like one that the provider cannot do. */
const lookUpWithinMs = 30_000;

const stageName = 'reconcile';

/** Orders the look-up of an invoice that is parked although it may have been charged. */
export const reconciliationFollowUp: FollowUp = {
  name: stageName,
  on: ['parked'],
  delayMs: searchLagMs,
  order({ invoice: { invoiceId, keyNumber }, end }, { occasion, shard }) {
    if (end.kind !== 'parked' || !end.unknown) return undefined;
    // The first release needs the shard.
    return { resourceId: invoiceId, stage: stageName, occasion, input: { shard, keyNumber } };
  },
};

/** The provider could not say, or the store gave no clear answer: the work item is tried again later. */
export class NotReconciled extends NotNow {
  override readonly name = 'NotReconciled';
}

/** The provider has no payment that settles the invoice. */
type NoneFound = Extract<FoundPayment, { kind: 'notFound' | 'differs' | 'reversed' }>;

/**
 * The stage that looks a parked invoice up at the provider. If a payment is found, the invoice was charged, so it becomes
 * paid and its receipt is ordered; if the payment is alive, it is followed. If none is found for an hour, or one with
 * another amount, or one whose money has gone back, the invoice stays parked, and its timeline says so; to try again is
 * then for a person to decide. Nothing is ever charged here.
 */
export function reconciliationStage({
  invoices,
  provider,
  followUps,
  instance: { clock, name: by },
}: {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  provider: Pick<PacedProvider, 'within'>;
  followUps: FollowUps;
  instance: Pick<Instance, 'clock' | 'name'>;
}): Stage {
  return defineStage({
    name: stageName,
    input: z.object({ keyNumber: z.int().min(1) }),
    async handle({ keyNumber }, { resourceId: id, assertHeld }) {
      const invoice = await invoices.find(id);
      if (invoice === undefined || !isUnclear(invoice, keyNumber)) return { result: 'decided meanwhile' };
      const calls = provider.within({
        before: clock.monotonic() + lookUpWithinMs,
        mayCall: isHeld(assertHeld),
      });
      const found = await calls.find(soughtOf({ ...invoice, invoiceId: id }));
      if (found.kind === 'notCalled') throw new NotReconciled('the turn of its look-up did not come in time');
      if (found.kind === 'unknown' || found.kind === 'heldBack')
        throw new NotReconciled(`the provider cannot say: ${found.message}`);
      const now = clock.now();
      if (found.kind === 'notFound' && now - parkedAt(invoice) < searchUncertainMs)
        throw new NotReconciled('the provider finds no payment, but its search may lag');
      assertHeld();
      try {
        if (found.kind === 'found' || found.kind === 'processing') return await recordFound(found, now);
        return await staysParked(invoice, found, now);
      } catch (error) {
        if (!(error instanceof StoreAway)) throw error;
        throw new NotReconciled(error.message, { cause: error });
      }

      async function recordFound(
        payment: Extract<FoundPayment, { kind: 'found' | 'processing' }>,
        at: number,
      ) {
        const { paymentId } = payment;
        const recorded = await recordFoundPayment(
          invoices,
          id,
          payment.kind === 'found' ? { ...payment, paidAt: new Date(at).toISOString() } : payment,
          {
            now: at,
            by,
            found: 'by reconciliation',
            occasion: `reconciled-${paymentId}`,
            followUps,
            mayRecord: (stored) => isUnclear(stored, keyNumber),
            assertHeld,
          },
        );
        if (recorded.kind !== 'updated') return { result: 'decided meanwhile' };
        return { result: payment.kind === 'found' ? 'paid' : 'processing', paymentId };
      }

      async function staysParked({ id: invoiceId }: Invoice, none: NoneFound, at: number) {
        const reason = none.kind === 'notFound' ? 'the provider finds no payment' : none.message;
        const entry = { at: new Date(at).toISOString(), what: 'looked up', by, reason };
        const updated = await invoices.update(invoiceId, {
          decide: (stored) =>
            isUnclear(stored, keyNumber)
              ? { kind: 'change', change: { entry } }
              : { kind: 'refuse', why: 'decided' },
          isApplied: ({ timeline }) =>
            timeline.some(({ at: when, what }) => when === entry.at && what === entry.what),
          beforeTry: assertHeld,
        });
        if (updated.kind !== 'updated') return { result: 'decided meanwhile' };
        return { result: none.kind === 'notFound' ? 'not found' : none.kind };
      }
    },
  });
}

/** Whether there is still something to find out: a person may have decided meanwhile. */
export function isUnclear({ status, payment }: Invoice, keyNumber: number): boolean {
  return status === 'parked' && payment.keyNumber === keyNumber;
}

/** The same as an answer, for calls that wait for their turn. */
export function isHeld(assertHeld: () => void): () => boolean {
  return () => {
    try {
      assertHeld();
      return true;
    } catch {
      return false;
    }
  };
}

/** Milliseconds since the epoch; 0 if the timeline does not say, as after an edit by hand. */
function parkedAt({ timeline }: Invoice): number {
  const at = timeline.findLast(({ what }) => what === 'parked')?.at;
  return at === undefined ? 0 : Date.parse(at);
}
