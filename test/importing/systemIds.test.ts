import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newWriteId, systemId } from '../../packages/jobs/src/documents/storedDocuments.ts';
import { checkJsonInvoice } from '../../src/importing/checkInvoice.ts';
import { checkCsvInvoice } from '../../src/importing/csvRows.ts';
import { dayId, standingId } from '../../src/invoice/counters/counters.ts';

const row = { customerId: 'cus_1', currency: 'EUR', dueAt: '2026-02-01T00:00:00Z' };
const isTaken = (id: string) => [
  checkJsonInvoice({ ...row, id, amountMinor: 1999 }).kind,
  checkCsvInvoice({ ...row, id, amount: '19.99' }).kind,
];

/** The simulation checks at each write that the app's own documents have such ids (test/simulation/invariants/steps.ts). */
test('no import takes an id that the app gives its own documents', () => {
  expect(isTaken('inv-1')).toEqual(['invoice', 'invoice']);
  for (const id of [newWriteId(), standingId, dayId('2026-11-24')])
    expect(isTaken(id)).toEqual(['bad', 'bad']);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (name) => {
      expect(isTaken(systemId(name))).toEqual(['bad', 'bad']);
    }),
  );
});
