import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { methodTypesOf, paramsHash, requestForm } from '../../src/invoice/chargeForm.ts';

const content = fc.record(
  {
    customerId: fc.string(),
    amountMinor: fc.integer({ min: 1 }),
    currency: fc.constantFrom('USD', 'EUR', 'JPY'),
    paymentMethod: fc.string(),
    description: fc.string(),
  },
  { requiredKeys: ['customerId', 'amountMinor', 'currency', 'paymentMethod'] },
);

/** As 0.2.0 made it. */
const older = '0d4hOkiqJLde2BCaoTe4NXDUMJLzgMGK37uydBw_wAM';

test('a key of 0.2.0 stands for a card payment for ever', () => {
  const known = { customerId: 'cus_1', amountMinor: 1999, currency: 'USD', paymentMethod: 'pm_card_visa' };
  expect(paramsHash(known, 'any hash without a form')).toBe(older);
  expect(methodTypesOf(older)).toEqual(['card']);
});

test('a new key allows bank debits, too', () => {
  const known = { customerId: 'cus_1', amountMinor: 1999, currency: 'USD', paymentMethod: 'pm_card_visa' };
  const hash = paramsHash(known);
  expect(requestForm(hash)).toBe(2);
  expect(methodTypesOf(hash)).toEqual(['card', 'sepa_debit', 'us_bank_account', 'bacs_debit']);
  expect(requestForm(undefined)).toBe(2);
});

test('a hash made again like a stored one is the same only for the same content, in every form', () => {
  fc.assert(
    fc.property(content, content, fc.constantFrom(undefined, older), (one, other, like) => {
      const stored = paramsHash(one, like);
      expect(paramsHash(one, stored)).toBe(stored);
      expect(paramsHash(other, stored) === stored).toBe(isDeepStrictEqual({ ...one }, { ...other }));
    }),
  );
});
