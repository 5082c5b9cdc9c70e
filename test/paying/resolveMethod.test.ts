import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreAway } from '../../packages/jobs/src/documents/documentStore.ts';
import { maxAttempts, type PaymentState } from '../../src/invoice/invoice.ts';
import { type PaymentBatch, paymentBatchSchema, withMethod } from '../../src/paying/paymentBatch.ts';
import type { DefaultMethod } from '../../src/paying/paymentProvider.ts';
import { type PayingWorld, payingWorld } from '../support/payingWorld.ts';

let world: PayingWorld;
let stripe: string;
beforeAll(async () => {
  world = await payingWorld();
  stripe = world.apiBase;
});
afterAll(() => world[Symbol.asyncDispose]());

let customers = 0;

/** A customer of its own, and its default payment method. */
async function aCustomer(defaultMethod?: string): Promise<string> {
  const id = `cus_${++customers}`;
  if (defaultMethod !== undefined) await setDefault(id, defaultMethod);
  return id;
}

async function setDefault(customerId: string, method: string): Promise<void> {
  const response = await fetch(`${stripe}/v1/customers/${customerId}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.secretKey}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ 'invoice_settings[default_payment_method]': method }),
  });
  expect(response.status).toBe(200);
}

/** An invoice without a payment method, claimed. */
async function claimed(customerId: string, payment?: PaymentState) {
  const changes = { customerId, ...(payment === undefined ? {} : { payment }) };
  const { shard, ids } = await world.dueInvoices(1, changes);
  const [id = ''] = ids;
  await world.container.item(id, shard).patch([{ op: 'remove', path: '/paymentMethod' }]);
  const claim = async () => paymentBatchSchema.parse((await world.claimDue(shard)).message?.body);
  return {
    id,
    batch: await claim(),
    claimAgain: async () => {
      await world.makeDue(shard, ids);
      return claim();
    },
    stored: async () => (await world.stored(shard, ids))[0],
    charges: () => world.charges(ids),
  };
}

/** The provider cannot say. */
const silent = async (): Promise<DefaultMethod> => ({ kind: 'unknown', message: 'no answer' });

const pay = (batch: PaymentBatch, changes: Parameters<PayingWorld['consumer']>[0] = {}) =>
  world.consumer(changes).pay(batch);

describe('an invoice without a payment method', () => {
  test('is charged with the customer’s default, which is stored with the key', async () => {
    const { id, batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
    expect(batch).toMatchObject({ version: 1, commands: [{ invoiceId: id, attempt: 1 }] });
    expect(batch.commands[0]).not.toHaveProperty('paymentMethod');
    await pay(batch);
    expect(await stored()).toMatchObject({
      status: 'paid',
      payment: {
        method: { id: 'pm_card_visa', from: 'customer' },
        paramsHash: expect.stringMatching(/^[\w-]{43}$/),
      },
    });
    expect(await charges()).toHaveLength(1);
  });

  test('is declined if there is no default', async () => {
    const { batch, stored, charges } = await claimed(await aCustomer());
    await pay(batch);
    expect(await stored()).toMatchObject({
      status: 'declined',
      reason: expect.stringMatching(/^no_payment_method: customer cus_\d+ has no default payment method/),
      payment: { keyNumber: 1 },
    });
    expect(await charges()).toEqual([]);
  });

  test('waits if the provider cannot say: no attempt is counted', async () => {
    const { batch, stored } = await claimed(await aCustomer('pm_card_visa'));
    await pay(batch, { provider: { ...world.provider, defaultMethod: silent } });
    expect(await stored()).toMatchObject({ status: 'pending', attempts: 0, payment: { deferrals: 1 } });
    expect(await stored()).not.toHaveProperty('payment.method');
  });
});

describe('a key keeps the method that it was first sent with', () => {
  test('also in a delivery that calls again and cannot ask for it', async () => {
    const { batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
    const dies = async () => {
      throw new Error('the process died');
    };
    await expect(pay(batch, { provider: { ...world.provider, charge: dies } })).rejects.toThrow('died');
    expect(await stored()).toMatchObject({
      claim: { phase: 'calling' },
      payment: { method: { id: 'pm_card_visa' } },
    });
    await pay(batch, { provider: { ...world.provider, defaultMethod: silent } });
    expect(await stored()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_visa' } } });
    expect(await charges()).toHaveLength(1);
  });

  test('so a delivery stores none once another has begun to call again', async () => {
    const { id, batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
    const overtaken = async (customerId: string) => {
      const since = new Date().toISOString();
      const invoices = [{ invoiceId: id, earlier: { since, attempt: 1 } }];
      const { shard, batchId } = batch;
      await world.invoices.start({ shard, batchId, invoices, staleAfterMs: 300_000, by: 'other' });
      return world.provider.defaultMethod?.(customerId) ?? silent();
    };
    await pay(batch, { provider: { ...world.provider, defaultMethod: overtaken } });
    expect(await stored()).toMatchObject({ status: 'claimed', claim: { attempt: 2, phase: 'calling' } });
    expect(await stored()).not.toHaveProperty('payment.method');
    expect(await charges()).toEqual([]);
  });

  test('also if the customer changes theirs while the outcome is unknown', async () => {
    const customer = await aCustomer('pm_local_resetAfterChargeOnce');
    const { batch, stored, charges, claimAgain } = await claimed(customer);
    await pay(batch);
    expect(await stored()).toMatchObject({
      status: 'pending',
      payment: { unknownSince: expect.any(String) },
    });
    await setDefault(customer, 'pm_card_mastercard');
    await pay(await claimAgain());
    expect(await stored()).toMatchObject({
      status: 'paid',
      payment: { keyNumber: 1, method: { id: 'pm_local_resetAfterChargeOnce' } },
    });
    expect(await charges()).toHaveLength(1);
  });

  test('one that a delivery has stored and not called with is kept', async () => {
    const { id, batch, stored, charges } = await claimed(await aCustomer('pm_card_mastercard'));
    const [command] = batch.commands;
    if (command === undefined) throw new Error('no command');
    const method = { id: 'pm_card_visa', from: 'customer' as const };
    const { payment } = withMethod({ ...command, payment: { ...command.payment, method } }, method.id);
    await world.container.item(id, batch.shard).patch([{ op: 'set', path: '/payment', value: payment }]);
    await pay(batch);
    expect(await stored()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_visa' } } });
    expect(await charges()).toHaveLength(1);
  });

  test('also if the message comes again before the first delivery has settled', async () => {
    const customer = await aCustomer('pm_card_visa');
    const { batch, stored, charges } = await claimed(customer);
    // The first delivery resolves and charges, and dies before it settles.
    const dies = { ...world.invoices, settle: () => Promise.reject(new Error('died')) };
    await expect(pay(batch, { invoices: dies })).rejects.toThrow('died');
    await setDefault(customer, 'pm_card_mastercard');
    await pay(batch);
    expect(await stored()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_visa' } } });
    expect(await charges()).toHaveLength(1);
  });

  test.each<DefaultMethod>([
    { kind: 'unknown', message: 'no answer' },
    { kind: 'none', message: 'no default payment method' },
  ])('a delivery that is told "$kind" leaves the invoice to a later one that is calling', async (told) => {
    const { batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<DefaultMethod>();
    const defaultMethod = () => {
      asked.resolve();
      return answer.promise;
    };
    const first = pay(batch, { provider: { ...world.provider, defaultMethod } });
    await asked.promise;
    const charge: typeof world.provider.charge = async (request) => {
      answer.resolve(told);
      await first;
      return world.provider.charge(request);
    };
    const second = await pay(batch, { provider: { ...world.provider, charge } });
    expect(await first).toMatchObject({ settled: { retry: 0, declined: 0 }, lost: 1 });
    expect(second).toMatchObject({ settled: { paid: 1 }, lost: 0 });
    expect(await stored()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_visa' } } });
    expect(await charges()).toHaveLength(1);
  });

  test('two deliveries at once: one of them stores it, and both send the same', async () => {
    const customer = await aCustomer('pm_card_visa');
    const { batch, stored, charges } = await claimed(customer);
    let asked = 0;
    const both = Promise.withResolvers<void>();
    const defaultMethod = async (): Promise<DefaultMethod> => {
      const id = asked++ === 0 ? 'pm_card_visa' : 'pm_card_mastercard';
      if (asked === 2) both.resolve();
      await both.promise;
      return { kind: 'method', id };
    };
    const provider = { ...world.provider, defaultMethod };
    await Promise.all([pay(batch, { provider }), pay(batch, { provider })]);
    expect(asked).toBe(2);
    expect(await stored()).toMatchObject({ status: 'paid' });
    expect(await charges()).toHaveLength(1);
  });

  test('the next key asks for the default again', async () => {
    const customer = await aCustomer('pm_card_chargeDeclinedInsufficientFunds');
    const { batch, stored, charges, claimAgain } = await claimed(customer);
    await pay(batch);
    expect(await stored()).toMatchObject({ status: 'pending', payment: { keyNumber: 2, declines: 1 } });
    expect(await stored()).not.toHaveProperty('payment.method');
    await setDefault(customer, 'pm_card_visa');
    await pay(await claimAgain());
    expect(await stored()).toMatchObject({ status: 'paid', payment: { method: { id: 'pm_card_visa' } } });
    expect(await charges()).toHaveLength(1);
  });
});

describe('a store that gives no answer before the call', () => {
  const away = () => Promise.reject(new StoreAway('noAnswer', new Error('busy')));

  test('leaves the invoice as never called, however often', async () => {
    const { batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
    for (let delivery = 1; delivery <= maxAttempts + 1; delivery++)
      await expect(pay(batch, { invoices: { ...world.invoices, update: away } })).rejects.toThrow(StoreAway);
    expect(await stored()).toMatchObject({ attempts: 1, claim: { phase: 'claimed', attempt: 1 } });
    expect(await charges()).toEqual([]);
    await pay(batch);
    expect(await stored()).toMatchObject({ status: 'paid' });
    expect(await charges()).toHaveLength(1);
  });

  test('takes no call of an earlier delivery back', async () => {
    const { batch, stored } = await claimed(await aCustomer('pm_card_visa'));
    const dies = () => Promise.reject(new Error('died'));
    await expect(pay(batch, { provider: { ...world.provider, charge: dies } })).rejects.toThrow('died');
    await expect(pay(batch, { invoices: { ...world.invoices, find: away } })).rejects.toThrow(StoreAway);
    expect(await stored()).toMatchObject({ attempts: 1, claim: { phase: 'calling', attempt: 1 } });
  });

  test('holds up no other invoice of the batch', async () => {
    const { batch, shard, ids } = await world.claimedBatch(3);
    const commands = batch.commands.map((command, place) => {
      const { paymentMethod: _, ...unnamed } = command;
      return place === 0 ? unnamed : command;
    });
    const defaultMethod = async () => ({ kind: 'method', id: 'pm_card_visa' }) as const;
    const paying = pay(
      { ...batch, commands },
      { invoices: { ...world.invoices, update: away }, provider: { ...world.provider, defaultMethod } },
    );
    await expect(paying).rejects.toThrow(StoreAway);
    expect((await world.stored(shard, ids)).map(({ status }) => status)).toEqual(['claimed', 'paid', 'paid']);
  });
});

test('a claim that another batch took before the method was stored is left to it', async () => {
  const { batch, stored, charges } = await claimed(await aCustomer('pm_card_visa'));
  const taken = async (): Promise<DefaultMethod> => {
    const { id, shard } = { id: batch.commands[0]?.invoiceId ?? '', shard: batch.shard };
    await world.container.item(id, shard).patch([{ op: 'set', path: '/claim/batchId', value: 'another' }]);
    return { kind: 'method', id: 'pm_card_visa' };
  };
  const result = await pay(batch, { provider: { ...world.provider, defaultMethod: taken } });
  expect(result.lost).toBe(1);
  expect(await stored()).toMatchObject({ status: 'claimed' });
  expect(await charges()).toEqual([]);
});
