import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startPayments } from '../../../local/stripe/index.ts';
import { removeFolder } from '../../support/removeFolder.ts';
import { virtualClock } from '../../support/virtualClock.ts';
import { charge, chargesOf, clientOf, newInvoiceId, startProgram } from './paymentsForTests.ts';

const folder = mkdtempSync(join(tmpdir(), 'payonce-clock-'));
afterAll(() => removeFolder(folder));
const day = 24 * 3600 * 1000;
const debit = (invoiceId: string) =>
  charge({
    invoiceId,
    payment_method: 'pm_usBankAccount_success',
    allowed_payment_method_types: ['us_bank_account'],
  });

const clockOf = (baseUrl: string) => `${baseUrl}/_local/clock`;
const advance = (baseUrl: string, advanceMs: unknown) =>
  fetch(clockOf(baseUrl), { method: 'POST', body: JSON.stringify({ advanceMs }) });

test('advancing the clock lets days pass: outcomes, search, and the time of what comes next', async () => {
  const invoiceId = newInvoiceId();
  const start = Date.parse('2026-01-31T12:00:00Z');
  const clock = virtualClock(start);
  await using payments = await startPayments({ clock });
  const stripe = clientOf(payments);
  const { id } = await stripe.paymentIntents.create(debit(invoiceId));
  const answer = await advance(payments.baseUrl, 4 * day);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ now: '2026-02-04T12:00:00.000Z' });
  expect(await (await fetch(clockOf(payments.baseUrl))).json()).toEqual({ now: '2026-02-04T12:00:00.000Z' });
  expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
  expect(await chargesOf(payments, invoiceId)).toMatchObject([{ createdAt: '2026-02-04T12:00:00.000Z' }]);
  const later = await stripe.paymentIntents.create({ amount: 1, currency: 'eur' });
  expect(later.created * 1000).toBe(start + 4 * day);
  expect(clock.sleepers()).toBe(0);
});

test.each([[-1], [1.5], ['1'], [undefined]])('an advance by %s is refused', async (ms) => {
  await using payments = await startPayments();
  expect((await advance(payments.baseUrl, ms)).status).toBe(400);
});

test('an advance, and what is due, survive a restart', async () => {
  const data = join(folder, 'kept');
  const clock = virtualClock(Date.parse('2026-01-31T12:00:00Z'));
  const invoiceId = newInvoiceId();
  const first = await startPayments({ clock, data });
  const { id } = await clientOf(first).paymentIntents.create(debit(invoiceId));
  await advance(first.baseUrl, 2 * day);
  await first.stop();

  clock.stall(2 * day - 1);
  await using second = await startPayments({ clock, data });
  expect((await clientOf(second).paymentIntents.retrieve(id)).status).toBe('processing');
  expect(clock.sleepers()).toBe(1);
  await clock.advance(1);
  expect(await chargesOf(second, invoiceId)).toHaveLength(1);
});

test('as a program, outcomes that came due while it was down happen at its start', async () => {
  const data = join(folder, 'program');
  const invoiceId = newInvoiceId();
  const one = await startProgram('--data', data);
  const { id } = await one.stripe.paymentIntents.create(debit(invoiceId));
  await advance(one.baseUrl, 4 * day - 1);
  one.child.kill('SIGTERM');
  await one.exited;
  const two = await startProgram('--data', data);
  expect((await two.stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
  expect(await chargesOf(two, invoiceId)).toHaveLength(1);
});
