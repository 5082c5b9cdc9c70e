import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { paramsHash } from '../../src/paying/idempotencyKey.ts';

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

test('two hashes are the same only for the same content', () => {
  fc.assert(
    fc.property(content, content, (one, other) => {
      expect(paramsHash(other) === paramsHash(one)).toBe(isDeepStrictEqual({ ...one }, { ...other }));
    }),
  );
});

test('the hash of a content never changes: it is stored with keys in use', () => {
  const known = { customerId: 'cus_1', amountMinor: 1999, currency: 'USD', paymentMethod: 'pm_card_visa' };
  expect(paramsHash(known)).toBe('T8HaCwRae13l46PCDBl-DlHXM4skVFy6qmSsRtnlxHE');
});
