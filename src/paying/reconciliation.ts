import { z } from 'zod';
import { StoreAway } from '../documents/documentStore.ts';
import type { FollowUp, FollowUps } from '../invoice/followUps.ts';
import { type Invoice, wasVoided } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import { NotNow, NotYet } from '../workItems/nextTry.ts';
import { defineStage, type Stage } from '../workItems/workItem.ts';
import { soughtOf } from './chargeUnderKey.ts';
import { recordFoundPayment } from './foundPayment.ts';
import { noTurn, type PacedProvider, turnWithinMs } from './pacedProvider.ts';
import type { FoundPayment } from './paymentProvider.ts';

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

/** The provider could not say, or the store gave no clear answer: the work item is tried until one does. */
export class NotReconciled extends NotNow {
  override readonly name = 'NotReconciled';
}

interface LookUpParts {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  provider: Pick<PacedProvider, 'within'>;
  followUps: FollowUps;
  instance: Pick<Instance, 'clock' | 'name'>;
}

/** Outcome of looking an invoice up. */
type LookedUp =
  | { result: 'paid' | 'processing'; paymentId: string }
  /** It stays as it is: the provider has no payment that settles it, and the timeline says so. */
  | { result: 'not found' | 'differs' | 'reversed' }
  /** Its state has changed since it was read. */
  | { result: 'decided meanwhile' };

type Found = Extract<FoundPayment, { kind: 'found' | 'processing' }>;
type NoneFound = Extract<FoundPayment, { kind: 'notFound' | 'differs' | 'reversed' }>;

/**
 * Looks an invoice up at the provider, as it was read, and records what is found. One that was charged becomes paid and its
 * receipt is ordered; a payment that is alive is followed. Nothing is ever charged here.
 *
 * `mayLag`: asked if no payment is found. If so, that proves nothing yet.
 *
 * @throws {NotReconciled} {NotYet} and what `assertHeld` throws
 */
async function lookUpInvoice(
  { invoices, provider, followUps, instance: { clock, name: by } }: LookUpParts,
  invoice: Invoice,
  {
    found,
    mayLag,
    assertHeld = () => {},
  }: { found: string; mayLag: (now: number) => boolean; assertHeld?: () => void },
): Promise<LookedUp> {
  const { id, status } = invoice;
  const { keyNumber } = invoice.payment;
  const asRead = (stored: Invoice) => stored.status === status && stored.payment.keyNumber === keyNumber;
  const calls = provider.within({
    before: clock.monotonic() + turnWithinMs,
    mayCall: isHeld(assertHeld),
  });
  const seen = await calls.find(soughtOf({ ...invoice, invoiceId: id }));
  if (seen.kind === 'notCalled') throw new NotReconciled(noTurn);
  if (seen.kind === 'unknown' || seen.kind === 'heldBack')
    throw new NotReconciled(`the provider cannot say: ${seen.message}`);
  const now = clock.now();
  const at = new Date(now).toISOString();
  if (seen.kind === 'notFound' && mayLag(now))
    throw new NotYet('the provider finds no payment, but its search may lag');
  assertHeld();
  try {
    if (seen.kind !== 'found' && seen.kind !== 'processing') return await staysAsItIs(seen);
    return await recordFound(seen);
  } catch (error) {
    if (!(error instanceof StoreAway)) throw error;
    throw new NotReconciled(error.message, { cause: error });
  }

  async function recordFound(payment: Found): Promise<LookedUp> {
    const { paymentId } = payment;
    const recorded = await recordFoundPayment(
      invoices,
      id,
      payment.kind === 'found' ? { ...payment, paidAt: at } : payment,
      { now, by, found, occasion: `reconciled-${paymentId}`, followUps, mayRecord: asRead, assertHeld },
    );
    if (recorded.kind !== 'updated') return { result: 'decided meanwhile' };
    return { result: payment.kind === 'found' ? 'paid' : 'processing', paymentId };
  }

  async function staysAsItIs(none: NoneFound): Promise<LookedUp> {
    const reason = none.kind === 'notFound' ? nothingFound(none.foreign) : none.message;
    const result = none.kind === 'notFound' ? 'not found' : none.kind;
    // Several events tell of one refund: the timeline says it once.
    const last = invoice.timeline.at(-1);
    if (last?.what === 'looked up' && last.reason === reason) return { result };
    const entry = { at, what: 'looked up', by, reason };
    const updated = await invoices.update(id, {
      decide: (stored) =>
        asRead(stored) ? { kind: 'change', change: { entry } } : { kind: 'refuse', why: 'decided' },
      beforeTry: assertHeld,
    });
    return updated.kind === 'updated' ? { result } : { result: 'decided meanwhile' };
  }
}

function nothingFound(foreign: readonly string[] = []): string {
  const others = foreign.length === 0 ? '' : `; ${foreign.join(', ')} is of another customer or deployment`;
  return `the provider finds no payment${others}`;
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
