import { expect, test } from 'vitest';
import { refundIdOf } from '../../src/after/refundInvoice.ts';
import { decideKey, providerKey } from '../../src/after/refundStage.ts';
import { isRefundId } from '../../src/invoice/reversals.ts';

const hour = 3_600_000;
const createdAt = '2026-01-01T00:00:00.000Z';
const born = Date.parse(createdAt);

test('the same key of the same invoice is the same refund, and any other is another', () => {
  const id = refundIdOf('inv-1', 'key');
  expect(refundIdOf('inv-1', 'key')).toBe(id);
  expect(isRefundId(id)).toBe(true);
  expect(
    new Set([id, refundIdOf('inv-2', 'key'), refundIdOf('inv-1', 'yek'), refundIdOf('inv-', '1key')]).size,
  ).toBe(4);
});

test('the provider’s key of any invoice is one that a header takes', () => {
  expect(providerKey(refundIdOf('Rechnung Nr. 7 ✓', 'ключ'), 12)).toMatch(/^refund-rf_[\w-]{43}-12$/);
});

test.each([
  ['a refund that was never sent gets its first key', undefined, 0, { kind: 'store', number: 1 }],
  ['a young key is sent again', 2, hour, { kind: 'send', number: 2 }],
  ['so is one of 23 h', 2, 23 * hour, { kind: 'send', number: 2 }],
  ['after that it is never sent', 2, 23 * hour + 1, { kind: 'wait' }],
  ['nor is the next one, as long as a call could be in flight', 2, 25.5 * hour - 1, { kind: 'wait' }],
  ['then the next key is stored', 2, 25.5 * hour, { kind: 'store', number: 3 }],
  ['a clock that is behind sends the key that is stored', 2, -hour, { kind: 'send', number: 2 }],
] as const)('%s', (_, number, ageMs, expected) => {
  const key = number === undefined ? {} : { key: { number, createdAt } };
  expect(decideKey(key, born + ageMs)).toEqual(expected);
});
