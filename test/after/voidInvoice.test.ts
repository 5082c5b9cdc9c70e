import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { callsOverMs } from '../../src/paying/payingPolicy.ts';
import { correctedInvoices } from '../support/correctedInvoices.ts';
import { withBatch } from '../support/layerSwitches.ts';
import { longPayments } from '../support/longPayments.ts';
import { hour, shards } from '../support/payingWorld.ts';

let app: Awaited<ReturnType<typeof longPayments>>;
let corrected: ReturnType<typeof correctedInvoices>;
beforeAll(async () => {
  app = await longPayments();
  corrected = correctedInvoices(app);
});
afterAll(() => app[Symbol.asyncDispose]());

const refund = async (payment_intent: string, amount: number) => {
  const response = await fetch(`${app.payments.baseUrl}/v1/refunds`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.payments.secretKey}` },
    body: new URLSearchParams({ payment_intent, amount: String(amount) }),
  });
  expect(response.status).toBe(200);
};

describe('an invoice that was never charged', () => {
  test('pending: it is voided, and nobody claims it', async () => {
    const { id, shard, stored, charges } = await app.invoice();
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', repeated: false, from: 'pending' });
    const invoice = await stored();
    expect(invoice).toMatchObject({
      status: 'voided',
      reason: 'sent by mistake',
      timeline: [{ what: 'imported' }, { what: 'voided', by: 'ada', from: 'pending' }],
    });
    expect(invoice).not.toHaveProperty('actionableAt');
    expect(await app.world.claimDue(shard)).not.toHaveProperty('message');
    expect(await charges()).toEqual([]);
  });

  test('declined: it is voided without a look at the provider', async () => {
    const { id, pay, stored } = await app.invoice({ paymentMethod: 'pm_card_chargeDeclinedExpiredCard' });
    expect(await pay()).toMatchObject({ status: 'declined' });
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', from: 'declined' });
    expect(await stored()).not.toHaveProperty('declinedAt');
  });

  test('parked: only once no call can be in flight any more', async () => {
    const { id, stored } = await corrected.parked();
    const until = new Date(app.clock.now() + callsOverMs).toISOString();
    expect(await corrected.void(id)).toEqual({ kind: 'wait', until });
    await app.clock.advance(callsOverMs);
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', from: 'parked' });
    const invoice = await stored();
    expect(invoice).toMatchObject({ timeline: [{}, {}, {}, { check: 'the provider has no payment' }] });
    expect(invoice).not.toHaveProperty('payment.unknownSince');
  });

  test('parked: a call that was in flight is found, although the search lags', async () => {
    const { id, lateCall, stored, charges, ordered } = await corrected.parked();
    expect(await corrected.void(id)).toMatchObject({ kind: 'wait' });
    await app.clock.advance(callsOverMs);
    await lateCall();
    expect(await corrected.void(id)).toMatchObject({ kind: 'recorded', status: 'paid' });
    expect(await stored()).toMatchObject({ status: 'paid' });
    expect(await charges()).toHaveLength(1);
    expect(await ordered()).toContain('receipt');
  });

  test('claimed by a batch: refused, and the batch pays it', async () => {
    const { batch, shard, ids } = await app.world.claimedBatch(1);
    const [id = ''] = ids;
    expect(await corrected.void(id)).toEqual({ kind: 'refused', status: 'claimed' });
    await app.world.consumer().pay(batch);
    expect(await app.world.stored(shard, ids)).toMatchObject([{ status: 'paid' }]);
    expect(await corrected.void(id)).toEqual({ kind: 'refused', status: 'paid' });
  });
});

describe('an invoice with a payment', () => {
  test('charged without our knowledge: it is paid now, with its receipt', async () => {
    const { id, paymentId, stored, ordered } = await corrected.parked({ charged: 'pm_card_visa' });
    expect(await corrected.void(id)).toEqual({
      kind: 'recorded',
      from: 'parked',
      status: 'paid',
      paymentId,
    });
    expect(await stored()).toMatchObject({ status: 'paid', payment: { id: paymentId } });
    expect(await ordered()).toContain('receipt');
  });

  test('a debit that can still be canceled: canceled, then voided', async () => {
    const { id, pay, stored, charges } = await app.invoice({ paymentMethod: 'pm_usBankAccount_success' });
    const { payment } = await pay();
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', from: 'processing' });
    expect(await stored()).toMatchObject({
      status: 'voided',
      timeline: expect.arrayContaining([expect.objectContaining({ canceled: payment.inProgress?.id })]),
    });
    await app.pass(20 * 24 * hour);
    expect(await stored()).toMatchObject({ status: 'voided' });
    expect(await charges()).toEqual([]);
  });

  test('a debit that nobody knew of is recorded, canceled and voided in one go', async () => {
    const { id, paymentId, stored, charges } = await corrected.parked({
      charged: 'pm_usBankAccount_success',
    });
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', from: 'processing' });
    expect(await stored()).toMatchObject({
      status: 'voided',
      timeline: [{}, {}, {}, { what: 'processing', paymentId }, { what: 'voided', canceled: paymentId }],
    });
    await app.pass(20 * 24 * hour);
    expect(await charges()).toEqual([]);
  });

  test('a card that is processing cannot be canceled: it goes on, and ends paid', async () => {
    const { id, pay, stored, charges } = await app.invoice({
      paymentMethod: 'pm_card_local_processingSucceeds',
    });
    const { payment } = await pay();
    expect(await corrected.void(id)).toEqual({
      kind: 'notCanceled',
      paymentId: payment.inProgress?.id,
      message: 'the payment is processing',
    });
    await app.pass(hour);
    expect(await stored()).toMatchObject({ status: 'paid' });
    expect(await charges()).toHaveLength(1);
    expect(await corrected.void(id)).toEqual({ kind: 'refused', status: 'paid' });
  });

  test('a payment in progress that the provider does not know: voided, once no call can be in flight', async () => {
    const { id, shard, stored } = await app.invoice();
    const at = new Date(app.clock.now()).toISOString();
    const inProgress = { id: 'pi_gone', state: 'processing', since: at, checks: 0 };
    const payment = { keyNumber: 1, keyCreatedAt: at, declines: 0, deferrals: 0, inProgress };
    await app.world.container.item(id, shard).patch([
      { op: 'set', path: '/status', value: 'processing' },
      { op: 'set', path: '/payment', value: payment },
    ]);
    await app.clock.advance(callsOverMs);
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', from: 'processing' });
    expect(await stored()).toMatchObject({ status: 'voided' });
  });

  test('refunded in full: voided; in part: recorded as paid, with its refund', async () => {
    const whole = await corrected.parked({ charged: 'pm_card_visa', amountMinor: 1_000 });
    await refund(whole.paymentId, 1_000);
    const part = await corrected.parked({ charged: 'pm_card_visa', amountMinor: 1_000 });
    await refund(part.paymentId, 400);
    expect(await corrected.void(whole.id)).toMatchObject({ kind: 'wait' });
    await app.clock.advance(callsOverMs);
    expect(await corrected.void(whole.id)).toMatchObject({ kind: 'voided' });
    expect(await corrected.void(part.id)).toMatchObject({
      kind: 'recorded',
      status: 'paid',
    });
    expect(await part.stored()).toMatchObject({
      status: 'paid',
      payment: { id: part.paymentId },
      reversals: { refundedMinor: 400 },
    });
  });

  test('the provider cannot say: nothing changes', async () => {
    const { id, stored } = await corrected.parked();
    await app.clock.advance(callsOverMs);
    const before = await stored();
    await app.local('faults', { kind: '500', count: 1, filter: { operation: 'list' } });
    expect(await corrected.void(id)).toMatchObject({ kind: 'silent' });
    const { id: alive, pay } = await app.invoice({ paymentMethod: 'pm_usBankAccount_success' });
    await pay();
    await app.local('faults', { kind: 'reset-before', count: 1, filter: { operation: 'cancel' } });
    expect(await corrected.void(alive)).toMatchObject({ kind: 'silent' });
    expect(await stored()).toEqual(before);
  });
});

describe('a void and a claim at the same moment', () => {
  test('the claim is first: the void meets it, and is refused', async () => {
    const { id, shard, stored } = await app.invoice();
    const container = withBatch(app.world.container, (write) => async (...args) => {
      await app.world.claimDue(shard);
      return write(...args);
    });
    const invoices = cosmosInvoiceStore(container, { clock: app.clock, shards });
    expect(await corrected.void(id, 'too late', { invoices })).toEqual({
      kind: 'refused',
      status: 'claimed',
    });
    expect(await stored()).toMatchObject({ status: 'claimed' });
  });

  test('the void is first: a run that had read the invoice claims nothing', async () => {
    const { id, shard, stored } = await app.invoice();
    const container = withBatch(app.world.container, (write) => async (...args) => {
      await corrected.void(id);
      return write(...args);
    });
    const invoices = cosmosInvoiceStore(container, { clock: app.clock, shards });
    expect(await app.world.claimDue(shard, { invoices })).not.toHaveProperty('message');
    expect(await stored()).toMatchObject({ status: 'voided' });
  });

  test('side by side: exactly one of them wins', async () => {
    for (let round = 0; round < 20; round++) {
      const { id, shard, stored } = await app.invoice();
      const [made, { message }] = await Promise.all([corrected.void(id), app.world.claimDue(shard)]);
      expect(made.kind === 'voided').toBe(message === undefined);
      expect(await stored()).toMatchObject({ status: made.kind === 'voided' ? 'voided' : 'claimed' });
    }
  });

  test('a payment that is found at the same moment is not lost: the void is decided again', async () => {
    const { id, lateCall, stored } = await corrected.parked();
    await app.clock.advance(callsOverMs);
    let other = true;
    const container = withBatch(app.world.container, (write) => async (...args) => {
      // Somebody retries it, and a batch pays it.
      if (other) {
        other = false;
        await corrected.retry(id);
        await lateCall();
      }
      return write(...args);
    });
    const invoices = cosmosInvoiceStore(container, { clock: app.clock, shards });
    expect(await corrected.void(id, 'too late', { invoices })).toMatchObject({ kind: 'recorded' });
    expect(await stored()).toMatchObject({ status: 'paid' });
  });
});

describe('a void whose answer is lost', () => {
  test('by the store: it counts once', async () => {
    const { id, stored } = await app.invoice();
    await app.world.cosmos.fault({ kind: 'reset-after', count: 3, filter: { operation: 'batch' } });
    const voiding = corrected.void(id, 'twice', { invoices: app.world.invoices });
    expect(await voiding).toMatchObject({ kind: 'voided', repeated: false });
    await app.world.cosmos.clearFaults();
    expect((await stored()).timeline.filter(({ what }) => what === 'voided')).toHaveLength(1);
  });

  test('by the caller: who asks the same again gets it, anybody else a refusal', async () => {
    const { id, stored } = await app.invoice();
    await corrected.void(id);
    const once = await stored();
    expect(await corrected.void(id)).toMatchObject({ kind: 'voided', repeated: true });
    expect(await corrected.void(id, 'for another reason')).toEqual({ kind: 'refused', status: 'voided' });
    expect(await stored()).toEqual(once);
  });
});

test('an invoice that does not exist', async () => {
  expect(await corrected.void('nobody')).toEqual({ kind: 'notFound' });
});
