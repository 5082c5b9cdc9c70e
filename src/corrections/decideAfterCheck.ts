import type { ProviderView } from './checkProvider.ts';

/** What a check of the provider means for an invoice that is to be voided, or charged anew. */
export type AfterCheck =
  /** Nothing is charged, and no call is under way that could. */
  | { kind: 'uncharged'; check: string }
  /** It was charged once, and all of it has gone back. */
  | { kind: 'reversedInFull'; paymentId: string; check: string }
  /** There is a payment that nobody has recorded. */
  | { kind: 'record'; payment: Extract<ProviderView, { kind: 'found' | 'processing' }> }
  /** The provider has none, but a call may still be on its way. Ask again from `until` on (ISO 8601). */
  | { kind: 'wait'; until: string }
  /** The only payment is one of another amount, or one that the provider no longer knows. */
  | { kind: 'differs'; paymentId: string; message: string; check: string }
  | { kind: 'silent'; message: string };

/**
 * Decides what the provider's answer means. That there is no payment counts only if the question was asked (`askedAt`,
 * milliseconds) after the last call had ended for certain (`callsOverAt`; see paying/payingPolicy.ts). Pure.
 */
export function decideAfterCheck(
  view: ProviderView,
  { askedAt, callsOverAt }: { askedAt: number; callsOverAt: number | undefined },
): AfterCheck {
  switch (view.kind) {
    case 'found':
    case 'processing':
      return { kind: 'record', payment: view };
    case 'silent':
      return view;
    case 'nothing':
    case 'differs':
    case 'reversedInFull':
      break;
  }
  if (callsOverAt !== undefined && askedAt < callsOverAt) {
    return { kind: 'wait', until: new Date(callsOverAt).toISOString() };
  }
  if (view.kind === 'nothing') return { kind: 'uncharged', check: 'the provider has no payment' };
  return view.kind === 'differs'
    ? { ...view, check: `payment ${view.paymentId} does not count` }
    : { ...view, check: `payment ${view.paymentId} has gone back in full` };
}
