import fc from 'fast-check';
import type { PaymentState } from '../../src/invoice/invoice.ts';

const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());

/** Any state that the payment of an invoice may be in, unless it has ended. */
export const anyPayment: fc.Arbitrary<PaymentState> = fc.record(
  {
    keyNumber: fc.integer({ min: 1, max: 9 }),
    declines: fc.nat(4),
    deferrals: fc.nat(9),
    keyCreatedAt: time,
    paramsHash: fc.string(),
    unknownSince: time,
  },
  { requiredKeys: ['keyNumber', 'declines', 'deferrals'] },
);
