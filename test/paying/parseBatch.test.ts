import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatchRefused, parseBatch } from '../../src/paying/parseBatch.ts';
import { commandFor, type PaymentBatch } from '../../src/paying/paymentBatch.ts';
import { heldBy } from '../../src/paying/startBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';

const batch: PaymentBatch = {
  batchId: '0b9f4c1e-5a53-4a7e-8a51-0d6c8c6d1f11',
  shard: '0a',
  runId: 'run-1',
  commands: [commandFor(anInvoice(), { attempt: 1, at: '2026-01-01T12:00:00.000Z' })],
};

describe('parseBatch', () => {
  test('a batch comes through as it is', () => {
    expect(parseBatch(batch)).toEqual(batch);
  });

  test.each<[string, unknown, RegExp]>([
    ['no object', 'text', /message: /],
    ['no commands', { ...batch, commands: [] }, /commands: /],
    ['a shard that is none', { ...batch, shard: 'zz' }, /shard: two hex digits/],
    [
      'a batch id that would end a string of a condition',
      { ...batch, batchId: `x' or c.status = 'claimed` },
      /batchId: expected 1 to 64 letters/,
    ],
    ['a field that is none', { ...batch, extra: 1 }, /extra/],
  ])('%s is refused, and the field is named', (_, message, text) => {
    expect(() => parseBatch(message)).toThrow(BatchRefused);
    expect(() => parseBatch(message)).toThrow(text);
  });

  test('whatever batch id is let in stays within its quotes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\\'"\w -]{1,20}$/)), (batchId) => {
        let accepted: string;
        try {
          accepted = parseBatch({ ...batch, batchId }).batchId;
        } catch {
          return;
        }
        expect(heldBy(accepted)).toMatch(/ = '[^'\\]+'$/);
      }),
    );
  });
});
