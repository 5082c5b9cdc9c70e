// The program that a person runs after a restore, as a whole.
import { fileURLToPath } from 'node:url';
import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Payments, startPayments } from '../../local/stripe/index.ts';
import { changesLost } from '../../scripts/changesLost.ts';
import { fileName, fileOf } from '../../src/archive/archiveFile.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { deploymentPartition, shardOf } from '../../src/invoice/shard.ts';
import { tombstoneOf } from '../../src/invoice/tombstone.ts';
import type { JournalLine } from '../../src/ops/auditTrail.ts';
import { blobJournal } from '../../src/ops/blobJournal.ts';
import { blobContainers } from '../../src/platform/azureNames.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { runProgram } from '../support/runProgram.ts';
import { virtualClock } from '../support/virtualClock.ts';

const program = fileURLToPath(new URL('../../scripts/afterRestore.ts', import.meta.url));
const shards = 4;
const since = '2031-05-01T00:00:00.000Z';
const at = '2031-05-01T12:00:00.000Z';
const clock = virtualClock(Date.parse(at));
let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

async function stored(id: string, changes: Partial<Invoice> = {}): Promise<Invoice> {
  const { _etag, ...invoice } = anInvoice({ id, shard: shardOf(id, shards), ...changes });
  await cosmos.containers.invoices.items.upsert(invoice);
  return { ...invoice, _etag };
}

const environment = ({ secretKey, baseUrl }: Pick<Payments, 'secretKey' | 'baseUrl'>) => ({
  PATH: process.env.PATH,
  Cosmos: cosmos.connectionString,
  AzureWebJobsStorage: inject('azurite'),
  SHARDS: String(shards),
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_API_BASE: baseUrl,
});

const asked = (target: string, action: string, changes: Record<string, unknown> = {}): JournalLine[] => {
  const intent = `${action} ${target}`;
  return [
    { at, intent, actor: 'ada', action, target, changes },
    { at, intent, outcome: 200 },
  ];
};

/** The request for a payment that names the invoice. */
function paying(
  invoiceId: string,
  { amountMinor, currency, customerId }: Pick<Invoice, 'amountMinor' | 'currency' | 'customerId'>,
) {
  return {
    amount: amountMinor,
    currency: currency.toLowerCase(),
    customer: customerId,
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    confirm: true,
    off_session: true,
    metadata: { invoiceId },
  };
}

test('a payment, a refund and a void that the copy lacks: exit code 1 until nothing is left, then 0', async () => {
  const payments = await startPayments({ clock });
  try {
    const { secretKey, baseUrl } = payments;
    const stripe = stripeClient({ secretKey, apiBase: baseUrl, timeoutMs: 5_000 });
    const { amountMinor, currency, customerId } = await stored('paid-since');
    const pay = (invoiceId: string) =>
      stripe.paymentIntents.create(paying(invoiceId, { amountMinor, currency, customerId }));
    const { id: paymentId } = await pay('paid-since');
    await stripe.refunds.create({ payment_intent: paymentId, amount: 500 });
    await pay('of-a-shop');
    const by = { batchId: 'batch-1', by: 'host-a', runId: 'run-1', fence: 1 };
    const claim = { ...by, attempt: 1, at, phase: 'claimed' as const };
    await stored('voided-since', { status: 'claimed', actionableAt: at, claim });
    const blobs = BlobServiceClient.fromConnectionString(inject('azurite'));
    const container = blobs.getContainerClient(blobContainers.changes);
    await container.createIfNotExists();
    const journal = blobJournal(container, { name: 'host-a', clock });
    await journal.append(asked('voided-since', 'void invoice', { reason: 'sent by mistake' }));

    const env = environment(payments);
    const run = (...more: string[]) => runProgram(program, ['--since', since, ...more], env);
    const dry = await run();
    expect(dry.output).toMatch(/marked\tpaid-since/);
    expect(dry.code).toBe(1);

    const first = await run('--apply');
    expect(first.output).toMatch(/missing\tof-a-shop/);
    expect(first.output).toMatch(/lost\tvoided-since\tvoided\t\tby ada at 2031-05-01/);
    expect(first.code).toBe(1);
    const { resource } = await cosmos.containers.invoices
      .item('paid-since', shardOf('paid-since', shards))
      .read();
    expect(resource).toMatchObject({
      status: 'paid',
      payment: { id: paymentId },
      reversals: { refundedMinor: 500 },
    });
    // So that it can be voided: nothing would end the claim of the copy before the app pays again.
    const released = await cosmos.containers.invoices
      .item('voided-since', shardOf('voided-since', shards))
      .read();
    expect(released.resource).toMatchObject({ status: 'pending' });
    expect(released.resource).not.toHaveProperty('claim');

    // A person voids the one again, and decides that the other is of no concern here.
    await stored('voided-since', { status: 'voided' });
    expect((await run('--apply')).code).toBe(1);
    const last = await run('--apply', '--accept', 'of-a-shop');
    expect(last.output).toContain('0 changes by people that the database lacks');
    expect(last.code).toBe(0);
  } finally {
    await payments.stop();
  }
});

test('an invoice that the copy has in the archive is neither missing nor lacks a void', async () => {
  await using payments = await startPayments({ clock });
  const { secretKey, baseUrl } = payments;
  const stripe = stripeClient({ secretKey, apiBase: baseUrl, timeoutMs: 5_000 });
  const { id: paymentId } = await stripe.paymentIntents.create(paying('archived', anInvoice()));
  await stripe.refunds.create({ payment_intent: paymentId, amount: 500 });
  const { actionableAt: _, ...invoice } = anInvoice({ id: 'archived', shard: shardOf('archived', shards) });
  const payment = { ...invoice.payment, id: paymentId, paidAt: at };
  const paid: Invoice = { ...invoice, status: 'paid', payment };
  const archivedAt = '2031-04-01T00:00:00.000Z';
  const place = { shard: paid.shard, archivedAt };
  await cosmos.containers.invoices.items.create(tombstoneOf(paid, place));
  const blobs = BlobServiceClient.fromConnectionString(inject('azurite'));
  const archive = blobs.getContainerClient(blobContainers.archive);
  await archive.createIfNotExists();
  const text = fileOf([{ document: paid, invoice: paid }], archivedAt);
  await archive.getBlockBlobClient(fileName(place)).upload(text, text.length);
  const changes = blobs.getContainerClient(blobContainers.changes);
  await changes.createIfNotExists();
  const journal = blobJournal(changes, { name: 'host-b', clock });
  await journal.append(asked('archived', 'void invoice', { reason: 'sent by mistake' }));

  const run = () => runProgram(program, ['--since', since, '--apply'], environment(payments));
  const { output } = await run();
  expect(output).toMatch(/merged\tarchived/);
  expect(output).not.toMatch(/(missing|lost)\tarchived/);
  const { resource } = await cosmos.containers.invoices.item('archived', paid.shard).read();
  expect(resource).toMatchObject({
    reversals: { refundedMinor: 500 },
    timeline: [{}, { what: 'restored from the archive', by: 'after-restore', archivedAt }, {}],
  });
  expect((await run()).output).not.toContain('archived');
});

test('changes that the copy has, or that no longer matter, are not listed; of several the last counts', async () => {
  const invoices: Record<string, Invoice> = {
    moved: anInvoice({ dueAt: '2031-06-02T00:00:00.000Z' }),
    behind: anInvoice({ dueAt: '2031-05-20T00:00:00.000Z' }),
    claimed: anInvoice({ status: 'claimed', dueAt: '2031-05-20T00:00:00.000Z' }),
    paid: anInvoice({ status: 'paid' }),
    voided: anInvoice({ status: 'voided' }),
    card: anInvoice({ status: 'declined' }),
  };
  const move = (target: string, dueAt: string) => asked(target, 'move due date', { dueAt });
  const lines = [
    ...move('moved', '2031-06-01T00:00:00.000Z').map((line) => ({ ...line, intent: 'first' })),
    ...move('moved', '2031-06-02T00:00:00.000Z').map((line) => ({ ...line, intent: 'second', at: `${at}~` })),
    ...move('behind', '2031-06-02T00:00:00.000Z'),
    ...move('claimed', '2031-06-02T00:00:00.000Z'),
    ...asked('paid', 'bulk void'),
    ...asked('voided', 'void invoice'),
    ...asked('not-imported', 'void invoice'),
    ...asked('card', 'retry invoice', { paymentMethod: 'pm_2' }),
  ];
  const lost = await changesLost(lines, { find: async (id) => invoices[id] }, since);
  expect(lost.map(({ invoiceId, change }) => [invoiceId, change.kind])).toEqual([
    ['behind', 'dueDate'],
    ['claimed', 'dueDate'],
    ['not-imported', 'voided'],
    ['card', 'paymentMethod'],
  ]);
});

test('a void that was undone is no void, and an undo is lost if the copy has the void', async () => {
  const invoices: Record<string, Invoice> = {
    undone: anInvoice({ status: 'pending' }),
    'still-void': anInvoice({ status: 'voided' }),
    'void-again': anInvoice({ status: 'pending' }),
    unsure: anInvoice({ status: 'pending' }),
  };
  const later = (lines: ReturnType<typeof asked>, nth: number) =>
    lines.map((line) => ({ ...line, intent: `${line.intent} ${nth}`, at: `${at}~${nth}` }));
  const voidThenUndo = (id: string) => [...asked(id, 'void invoice'), ...later(asked(id, 'undo void'), 1)];
  const lines = [
    ...voidThenUndo('undone'),
    ...voidThenUndo('still-void'),
    ...voidThenUndo('void-again'),
    ...later(asked('void-again', 'void invoice'), 2),
    // Nobody knows whether it was undone.
    ...voidThenUndo('unsure').slice(0, -1),
    ...voidThenUndo('not-imported'),
  ];
  const lost = await changesLost(lines, { find: async (id) => invoices[id] }, since);
  expect(lost.map(({ invoiceId, change }) => `${invoiceId}: ${change.kind}`).toSorted()).toEqual([
    'still-void: void undone',
    'unsure: voided',
    'void-again: voided',
  ]);
});

test('bad arguments are refused, with what was expected', async () => {
  const { code, output } = await runProgram(program, ['--since', 'May'], { PATH: process.env.PATH });
  expect(code).toBe(2);
  expect(output).toMatch(/a time like[\s\S]*Cosmos[\s\S]*AzureWebJobsStorage/);
});

test('with a key of another account nothing is compared: exit code 2', async () => {
  await using payments = await startPayments({ clock, account: 'acct_other' });
  const id = ':provider-account';
  const account = {
    id,
    shard: deploymentPartition,
    type: 'providerAccount',
    mode: 'test',
    deployment: 'd-1',
  };
  await cosmos.containers.invoices.items.upsert({ ...account, account: 'acct_ours' });
  const { code, output } = await runProgram(program, ['--since', since, '--apply'], environment(payments));
  expect(output).toContain('the payments of this deployment are in acct_ours (test mode)');
  expect(code).toBe(2);
  await cosmos.containers.invoices.item(id, deploymentPartition).delete();
});
