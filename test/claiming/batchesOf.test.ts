import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { batchesOf } from '../../src/claiming/processInvoices.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';

describe('batchesOf', () => {
  test('cuts a page into full batches and a remainder', () => {
    const page = Array.from({ length: 120 }, (_, n) => anInvoice({ id: `inv-${n}` }));
    expect(batchesOf(page, 50).map(({ length }) => length)).toEqual([50, 50, 20]);
    expect(batchesOf([], 50)).toEqual([]);
  });

  test('every batch fits in a Service Bus message, nothing is lost, and the order is kept', () => {
    const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength });
    const invoice = fc.record({
      id: text(60),
      description: fc.oneof(text(250), fc.constant('"'.repeat(1_000))),
    });
    fc.assert(
      fc.property(
        fc.array(invoice, { maxLength: 200, size: 'max' }),
        fc.integer({ min: 1, max: 96 }),
        (some, size) => {
          const page = some.map(({ id, description }) =>
            anInvoice({ id, description, customerId: 'c'.repeat(255), paymentMethod: 'p'.repeat(255) }),
          );
          const batches = batchesOf(page, size);
          expect(batches.flat()).toEqual(page);
          for (const batch of batches) {
            expect(batch.length).toBeLessThanOrEqual(size);
            const commands = batch.map((each) =>
              commandFor(each, { attempt: 5, at: new Date(0).toISOString() }),
            );
            const body = { batchId: 'b'.repeat(36), shard: '00', runId: 'r'.repeat(36), commands };
            expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(250 * 1024);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});
