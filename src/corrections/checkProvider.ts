import type { Invoice } from '../invoice/invoice.ts';
import { paymentIdsOf } from '../invoice/namedPayments.ts';
import { soughtOf } from '../paying/chargeUnderKey.ts';
import { asLookUp, movesMoney, ownershipOf, unclearReason } from '../paying/foundPayment.ts';
import { noTurn } from '../paying/pacedProvider.ts';
import type {
  FoundPayment,
  NotCalled,
  PaymentCalls,
  ProviderReversals,
  RetrievedPayment,
} from '../paying/paymentProvider.ts';

/** What the provider has for an invoice. */
export type ProviderView =
  | { kind: 'found'; paymentId: string; reversals?: ProviderReversals }
  | { kind: 'processing'; paymentId: string; state: string }
  /** A payment of another amount or currency, or one that the provider no longer knows: a person says what that means. */
  | { kind: 'differs'; paymentId: string; message: string }
  /** All that was charged has gone back. */
  | { kind: 'reversedInFull'; paymentId: string }
  | { kind: 'nothing' }
  /** The provider could not say. */
  | { kind: 'silent'; message: string };

/** What counts if several views differ: the first of these that there is. */
const precedence: readonly ProviderView['kind'][] = [
  'found',
  'processing',
  'silent',
  'differs',
  'reversedInFull',
  'nothing',
];

/**
 * Asks the provider for payments of an invoice: by the ids that the invoice names, by search, and in the list of the
 * customer's payments, which does not lag as the search does.
 */
export async function checkProvider(
  calls: Pick<PaymentCalls, 'find' | 'retrieve'>,
  invoice: Invoice,
): Promise<ProviderView> {
  const { id: invoiceId, createdAt } = invoice;
  // No call was made before it was imported.
  const sought = { since: createdAt, ...soughtOf({ ...invoice, invoiceId }) };
  const views = [viewOfFound(await calls.find(sought))];
  for (const paymentId of paymentIdsOf(invoice)) {
    views.push(viewOfRetrieved(paymentId, await calls.retrieve(paymentId), invoice));
  }
  return weightiest(views);
}

/** The view that counts. Pure. */
export function weightiest(views: readonly ProviderView[]): ProviderView {
  const [first = { kind: 'nothing' as const }] = views.toSorted(
    (one, other) => precedence.indexOf(one.kind) - precedence.indexOf(other.kind),
  );
  return first;
}

function viewOfFound(found: FoundPayment | NotCalled): ProviderView {
  switch (found.kind) {
    case 'found':
    case 'processing':
    case 'differs':
      return found;
    case 'notFound':
      return { kind: 'nothing' };
    case 'reversed':
      return { kind: 'reversedInFull', paymentId: found.paymentId };
    case 'notCalled':
      return notCalled;
    case 'heldBack':
    case 'unknown':
      return { kind: 'silent', message: found.message };
  }
}

function viewOfRetrieved(
  paymentId: string,
  retrieved: RetrievedPayment | NotCalled,
  invoice: Invoice,
): ProviderView {
  switch (retrieved.kind) {
    case 'notFound':
      return {
        kind: 'differs',
        paymentId,
        message:
          `the provider does not know payment ${paymentId}, which the timeline names: void the invoice, or retry it with ` +
          'notCharged',
      };
    case 'notCalled':
      return notCalled;
    case 'heldBack':
    case 'unknown':
      return { kind: 'silent', message: retrieved.message };
    case 'payment':
      break;
  }
  if (!movesMoney(retrieved)) return { kind: 'nothing' };
  switch (ownershipOf(retrieved, invoice)) {
    case 'foreign':
      return { kind: 'nothing' };
    case 'unclear':
      return { kind: 'differs', paymentId, message: unclearReason(retrieved, invoice) };
    case 'ours':
      return viewOfFound(asLookUp(retrieved, invoice.amountMinor));
  }
}

const notCalled: ProviderView = { kind: 'silent', message: noTurn };
