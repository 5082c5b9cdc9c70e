import type { Invoice } from '../invoice/invoice.ts';
import { paymentIdsOf } from '../invoice/namedPayments.ts';
import { soughtOf, foundAmong } from '../paying/foundPayment.ts';
import type { FoundPayment, NotCalled, PaymentCalls, ProviderPayment } from '../paying/paymentProvider.ts';
import { whySilent } from './record.ts';

/** The provider's view of an invoice. `differs`: a payment that it no longer knows, too. */
export type ProviderView =
  | Exclude<FoundPayment, { kind: 'blocked' | 'unknown' }>
  | { kind: 'silent'; message: string };

/** Views by weight, heaviest first. Of two alike, the payment that the invoice names comes first. */
const precedence: readonly ProviderView['kind'][] = [
  'found',
  'processing',
  'silent',
  'differs',
  'reversed',
  'notFound',
];

/** Asks for payments of an invoice: by the ids that it names, by search, and in the customer's list, which does not lag. */
export async function checkProvider(
  calls: Pick<PaymentCalls, 'find' | 'retrieve'>,
  invoice: Invoice,
): Promise<ProviderView> {
  const { id: invoiceId, createdAt } = invoice;
  // No call was made before it was imported.
  const sought = { since: createdAt, ...soughtOf({ ...invoice, invoiceId }) };
  const views: ProviderView[] = [];
  const named: ProviderPayment[] = [];
  for (const paymentId of paymentIdsOf(invoice)) {
    const retrieved = await calls.retrieve(paymentId);
    if (retrieved.kind === 'payment') named.push(retrieved);
    else if (retrieved.kind === 'notFound') views.push(unknownPayment(paymentId));
    else views.push({ kind: 'silent', message: whySilent(retrieved) });
  }
  const shown = viewOfFound(foundAmong(named, sought));
  return weightiest([shown, ...views, viewOfFound(await calls.find(sought))]);
}

export function weightiest(views: readonly ProviderView[]): ProviderView {
  const [first = { kind: 'notFound' as const }] = views.toSorted(
    (one, other) => precedence.indexOf(one.kind) - precedence.indexOf(other.kind),
  );
  return first;
}

function viewOfFound(found: FoundPayment | NotCalled): ProviderView {
  return found.kind === 'notCalled' || found.kind === 'blocked' || found.kind === 'unknown'
    ? { kind: 'silent', message: whySilent(found) }
    : found;
}

function unknownPayment(paymentId: string): ProviderView {
  const advice = 'void the invoice, or retry it with notCharged';
  const message = `the provider does not know payment ${paymentId}, which the timeline names: ${advice}`;
  return { kind: 'differs', paymentId, message };
}

/** A view that proves nothing yet (`seen`): a call may still be in flight. Ask again from `until` on (ISO 8601). */
export type TooEarly = { kind: 'wait'; until: string; seen: 'notFound' | 'differs' | 'reversed' };

/**
 * Decides if the answer counts. That there is no payment of ours counts only if it was asked for (`askedAt`, milliseconds) after the
 * last call had ended for certain (`callsOverAt`; see paying/payingPolicy.ts). Pure.
 */
export function onceCallsAreOver(
  view: ProviderView,
  { askedAt, callsOverAt }: { askedAt: number; callsOverAt: number | undefined },
): ProviderView | TooEarly {
  switch (view.kind) {
    case 'found':
    case 'processing':
    case 'silent':
      return view;
    case 'notFound':
    case 'differs':
    case 'reversed':
      return callsOverAt !== undefined && askedAt < callsOverAt
        ? { kind: 'wait', until: new Date(callsOverAt).toISOString(), seen: view.kind }
        : view;
  }
}

/** The timeline's words for a view that lets an invoice be voided, or charged anew. Pure. */
export function checkNote(
  view: Extract<ProviderView, { kind: 'notFound' | 'differs' | 'reversed' }>,
): string {
  switch (view.kind) {
    case 'notFound':
      return 'the provider has no payment';
    case 'differs':
      return `payment ${view.paymentId} does not count`;
    case 'reversed':
      return goneBackNote(view.paymentId);
  }
}

export function goneBackNote(paymentId: string): string {
  return `payment ${paymentId} has gone back in full`;
}
