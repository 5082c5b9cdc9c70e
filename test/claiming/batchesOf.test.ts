import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { batchesOf, nextBatch } from '../../src/claiming/batchesOf.ts';
import { commandFor } from '../../src/paying/paymentBatch.ts';
import { aClaimedInvoice, anInvoice } from '../support/anInvoice.ts';

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

describe('nextBatch', () => {
  const due = (count: number) => Array.from({ length: count }, (_, n) => anInvoice({ id: `due-${n}` }));
  const suspects = (count: number, attempts: number) =>
    Array.from({ length: count }, (_, n) => aClaimedInvoice({ id: `suspect-${attempts}-${n}`, attempts }));

  test('what is tried apart goes only with its like, in small company', () => {
    const page = [...suspects(30, 1), ...due(60), ...suspects(5, 4)];
    expect(nextBatch(page, 50, 50)).toEqual(page.slice(0, 18));
    expect(nextBatch(page.slice(30), 50, 50)).toEqual(page.slice(30, 80));
    expect(nextBatch(page.slice(90), 50, 50)).toEqual(page.slice(90, 91));
  });

  test('what waits behind is not lost: taken batch by batch, a page comes to its end', () => {
    let page = [...due(3), ...suspects(4, 3), ...due(2), ...suspects(3, 1)];
    const taken: string[] = [];
    while (page.length > 0) {
      const batch = nextBatch(page, 50, 10);
      expect(batch.length).toBeGreaterThan(0);
      taken.push(...batch.map(({ id }) => id));
      page = page.filter((invoice) => !batch.includes(invoice));
    }
    expect(new Set(taken).size).toBe(10);
    expect(nextBatch([], 50, 50)).toEqual([]);
  });

  test('where there is room for less, it is less', () => {
    expect(nextBatch(suspects(30, 1), 5, 50)).toHaveLength(5);
    expect(nextBatch(due(30), 5, 50)).toHaveLength(5);
  });
});
