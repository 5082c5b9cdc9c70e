import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchLength } from '../../src/claiming/processInvoices.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { anInvoice } from '../support/anInvoice.ts';

function batchesOf(page: readonly Invoice[], most: number): (readonly Invoice[])[] {
  const batches: (readonly Invoice[])[] = [];
  for (let left = page; left.length > 0; left = left.slice(batches.at(-1)?.length))
    batches.push(left.slice(0, batchLength(left, most)));
  return batches;
}

test('cuts a page into full batches and a remainder', () => {
  const page = Array.from({ length: 120 }, (_, n) => anInvoice({ id: `inv-${n}` }));
  expect(batchesOf(page, 50).map(({ length }) => length)).toEqual([50, 50, 20]);
  expect(batchLength([], 50)).toBe(0);
});

test('every batch fits in a Service Bus message, and none is empty', () => {
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
        for (const batch of batchesOf(page, size)) {
          expect(batch.length).toBeGreaterThan(0);
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
