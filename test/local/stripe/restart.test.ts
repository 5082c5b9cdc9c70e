import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startPayments } from '../../../local/stripe/index.ts';
import { removeFolder } from '../../support/removeFolder.ts';
import { noSignals } from '../../support/signals.ts';
import { charge, chargesOf, clientOf, newInvoiceId, startProgram } from './paymentsForTests.ts';

const data = mkdtempSync(join(tmpdir(), 'payonce-payments-'));
afterAll(() => removeFolder(data));

test('intents, charges, keys and tries survive a restart', async () => {
  const invoiceId = newInvoiceId();
  const flaky = newInvoiceId();
  const options = { idempotencyKey: 'kept' };
  const failing = charge({ invoiceId: flaky, payment_method: 'pm_local_rateLimitOnce' });
  const first = await startPayments({ data, searchLagMs: 0 });
  const { id } = await clientOf(first).paymentIntents.create(charge({ invoiceId }), options);
  await expect(clientOf(first).paymentIntents.create(failing)).rejects.toMatchObject({ statusCode: 429 });
  await first.stop();

  await using second = await startPayments({ data, searchLagMs: 0 });
  const stripe = clientOf(second);
  expect((await stripe.paymentIntents.create(charge({ invoiceId }), options)).id).toBe(id);
  expect((await stripe.paymentIntents.retrieve(id)).status).toBe('succeeded');
  expect(
    (await stripe.paymentIntents.search({ query: `metadata['invoiceId']:'${invoiceId}'` })).data,
  ).toHaveLength(1);
  expect((await stripe.paymentIntents.create(failing)).status).toBe('succeeded');
  expect(await chargesOf(second, invoiceId)).toHaveLength(1);
});

test('as a program it prints its settings, then ready; answered calls survive SIGKILL', async () => {
  const folder = join(data, 'alone');
  const invoiceId = newInvoiceId();
  const options = { idempotencyKey: 'killed' };
  const one = await startProgram('--data', folder);
  const { id } = await one.stripe.paymentIntents.create(charge({ invoiceId }), options);
  one.child.kill('SIGKILL');
  await one.exited;

  const two = await startProgram('--data', folder);
  expect((await two.stripe.paymentIntents.create(charge({ invoiceId }), options)).id).toBe(id);
  expect(await chargesOf(two, invoiceId)).toHaveLength(1);
  two.child.kill('SIGTERM');
  expect(await two.exited).toEqual(noSignals ? [null, 'SIGTERM'] : [0, null]);
});
