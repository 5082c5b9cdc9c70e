import type { InvoiceContent } from '../../src/invoice/invoice.ts';

/** Their minor units have 2, 0 and 3 decimals; of ISK, Stripe's amount is another than ours. */
const currencies = ['USD', 'EUR', 'JPY', 'KWD', 'ISK'] as const;

type Fate = 'paid' | 'declined' | 'refunded' | 'refundedInPart' | 'disputed' | 'lost' | 'won';
const ofHundred: Readonly<Record<number, Fate>> = {
  1: 'refunded',
  2: 'refundedInPart',
  3: 'refundedInPart',
  4: 'disputed',
  5: 'lost',
  6: 'won',
};

/** Chooses the fate of an invoice by its number: 5 of 100 are declined, 3 refunded and 3 disputed. */
export function fateOf(n: number): Fate {
  return n % 20 === 7 ? 'declined' : (ofHundred[n % 100] ?? 'paid');
}

export function numbered(n: number): InvoiceContent {
  return {
    id: `report-${n}`,
    customerId: `cus-${n % 1000}`,
    amountMinor: 1000 + (n % 7919) * 10,
    currency: currencies[Math.floor(n / 100) % currencies.length] ?? 'USD',
    dueAt: '2025-01-01T00:00:00.000Z',
    paymentMethod: fateOf(n) === 'declined' ? 'pm_card_chargeDeclinedLostCard' : 'pm_card_visa',
  };
}
