import { cut, longestReason } from './invoiceChange.ts';

/** Calls that end the state of a parked invoice, by why it is parked (test/after/statesEnd.test.ts makes each). */
export const advice = {
  outcomeUnknown:
    'retry it to ask again under the same key; once you know that nothing was charged, void it or retry it with notCharged',
  refused: 'retry it with another paymentMethod, or void it',
  mayBeCharged: 'void it, or retry it with notCharged: the provider is asked first',
  chargedAndGone: 'void it; to charge the customer anew, import a new invoice',
} as const;

/** A reason with advice, which a long message of the provider does not displace. Pure. */
export function advised(reason: string, what: keyof typeof advice): string {
  const text = `; ${advice[what]}`;
  return cut(reason, longestReason - text.length) + text;
}
