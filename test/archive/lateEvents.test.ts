import { expect, test } from 'vitest';
import { eventItem, paymentEventStage } from '../../src/after/eventStage.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import type { PaymentProvider, RetrievedPayment } from '../../src/paying/paymentProvider.ts';
import { anInstance } from '../support/anInstance.ts';
import { emptyProvider } from '../support/emptyProvider.ts';
import { followUpsForTests } from '../support/payingWorld.ts';
import { unpaced } from '../support/unpaced.ts';
import { type ArchiveWorld, archiveWorld, paidInvoice } from './archiveWorld.ts';

const paymentId = 'pi_a';

function happens(world: ArchiveWorld, hint: 'succeeded' | 'reversed', payment: RetrievedPayment) {
  const provider: PaymentProvider = { ...emptyProvider, retrieve: async () => payment };
  const stage = paymentEventStage({
    invoices: world.invoices,
    provider: unpaced(provider, { clock: world.clock }),
    followUps: followUpsForTests,
    settlement: defaultSettlementPolicy,
    instance: anInstance({ clock: world.clock }),
  });
  const { input, resourceId } = eventItem({ eventId: 'evt_1', hint, paymentId, invoiceId: 'a' });
  return stage.run(input, { resourceId, signal: new AbortController().signal, assertHeld() {} });
}

const settled = {
  kind: 'payment' as const,
  paymentId,
  invoiceId: 'a',
  customerId: paidInvoice().customerId,
  amountMinor: paidInvoice().amountMinor,
  currency: paidInvoice().currency,
  progress: { kind: 'succeeded' as const },
  reversals: { refunds: [], disputes: [] },
};

test('a dispute that comes after the invoice has moved restores it, and is recorded', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' });
  await world.tick();
  const dispute = {
    id: 'dp_1',
    amountMinor: 500,
    status: 'open' as const,
    at: '2026-01-01T00:00:00.000Z',
    reason: 'fraudulent',
  };
  const disputed = { ...settled, reversals: { refunds: [], disputes: [dispute] } };
  expect(await happens(world, 'reversed', disputed)).toEqual({ result: 'recorded', status: 'paid' });
  expect(await world.where('a')).toBe('database');
  expect(await world.stored.find('a')).toMatchObject({
    reversals: { disputes: [{ id: 'dp_1', status: 'open' }], disputedMinor: 500 },
    timeline: [{}, {}, { what: 'restored from the archive' }, {}],
  });
  expect(await world.tick()).toMatchObject({ moved: 0, kept: 1 });
});

test('an event that tells nothing new leaves it in the archive', async () => {
  const world = archiveWorld();
  await world.put({ id: 'a' });
  await world.tick();
  expect(await happens(world, 'succeeded', settled)).toEqual({ result: 'nothing new' });
  expect(await happens(world, 'reversed', settled)).toEqual({ result: 'nothing new' });
  expect(await world.where('a')).toBe('archive');
});
