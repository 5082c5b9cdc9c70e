import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { receiptFollowUp } from '../../src/after/receipts.ts';
import { newWriteId, systemId } from '../../src/documents/systemId.ts';
import { checkCsvInvoice, checkJsonInvoice } from '../../src/importing/checkInvoice.ts';
import { dayId, standingId } from '../../src/invoice/figures/counters.ts';
import { followUpsOf } from '../../src/invoice/followUps.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { recordFoundPayment } from '../../src/paying/foundPayment.ts';
import { reconciliationFollowUp } from '../../src/paying/reconciliation.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { payonceCosmos } from '../support/payonceCosmos.ts';
import { virtualClock } from '../support/virtualClock.ts';

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

test('an invoice whose id looks like that of a write holds up no payment that is found', async () => {
  const cosmos = await payonceCosmos();
  onTestFinished(() => cosmos[Symbol.asyncDispose]());
  const clock = virtualClock(Date.parse('2026-01-01T12:00:00.000Z'));
  const invoices = cosmosInvoiceStore(cosmos.containers.invoices, { clock, shards: 1 });
  const imported = ['inv-1', 'reconciled-pi_1', 'reconciled-pi_1-reconciliation'].map((id) => {
    const { customerId, amountMinor, currency, dueAt } = anInvoice();
    return { id, customerId, amountMinor, currency, dueAt };
  });
  await invoices.add([imported], { by: 'test', withinMs: 60_000, settled: () => {} });
  const followUps = followUpsOf([receiptFollowUp, reconciliationFollowUp]);
  const found = { kind: 'found' as const, paymentId: 'pi_1', paidAt: '2026-01-01T11:00:00.000Z' };
  const recorded = await recordFoundPayment(invoices, 'inv-1', found, {
    now: clock.now(),
    by: 'test',
    found: 'by a test',
    occasion: 'reconciled-pi_1',
    followUps,
    mayRecord: () => true,
  });
  expect(recorded.kind).toBe('updated');
  expect((await invoices.find('inv-1'))?.status).toBe('paid');
});
