import { fileURLToPath } from 'node:url';
import Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPayments } from '../../local/stripe/index.ts';
import { countDocuments } from '../../scripts/recount/countDocuments.ts';
import { differences, type Figures } from '../../scripts/recount/figures.ts';
import { countLedger } from '../../scripts/recount/ledger.ts';
import { csvOf, reportedFigures } from '../../scripts/recount/reported.ts';
import { cosmosDocuments } from '../../src/documents/cosmosDocuments.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { type Dispute, type Refund, reversalsOf } from '../../src/invoice/reversals.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { addUp } from '../../src/reporting/report.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { type PayonceCosmos, payonceCosmos } from '../support/payonceCosmos.ts';
import { putCounted } from '../support/putCounted.ts';
import { runProgram } from '../support/runProgram.ts';
import { seededRandom } from '../support/seededRandom.ts';

const shards = 4;
const program = fileURLToPath(new URL('../../scripts/recount.ts', import.meta.url));
let cosmos: PayonceCosmos;
beforeAll(async () => {
  cosmos = await payonceCosmos();
});
afterAll(() => cosmos[Symbol.asyncDispose]());

async function store(changes: Partial<Invoice> & { id: string }, into = cosmos): Promise<void> {
  const documents = cosmosDocuments(into.containers.invoices);
  await putCounted(documents, anInvoice({ shard: shardOf(changes.id, shards), ...changes }), Date.now());
}

test('the recount and the report agree on 400 invoices of every kind', async () => {
  const random = seededRandom(7);
  const first = Date.UTC(2026, 0, 1);
  const at = () => new Date(random.between(first, first + 10 * 86_400_000)).toISOString();
  const amount = () => random.between(1, 100_000);
  for (let n = 0; n < 400; n++) {
    const status = random.pick(['pending', 'paid', 'paid', 'declined', 'parked'] as const);
    const refunds = Array.from(
      { length: random.pick([0, 0, 1, 3]) },
      (_, index): Refund => ({
        id: `re_${n}_${index}`,
        providerId: `re_${n}_${index}`,
        amountMinor: amount(),
        status: random.pick(['succeeded', 'pending', 'failed', 'canceled', 'requested'] as const),
        at: at(),
      }),
    );
    const disputes = Array.from(
      { length: random.pick([0, 0, 1]) },
      (_, index): Dispute => ({
        id: `dp_${n}_${index}`,
        amountMinor: amount(),
        status: random.pick(['open', 'won', 'lost'] as const),
        at: at(),
        reason: 'fraudulent',
      }),
    );
    await store({
      id: `inv-${n}`,
      status,
      currency: random.pick(['USD', 'JPY', 'KWD']),
      amountMinor: amount(),
      ...(status === 'paid' ? { payment: { ...anInvoice().payment, id: `pi_${n}`, paidAt: at() } } : {}),
      ...(status === 'declined' ? { declinedAt: at() } : {}),
      ...(status === 'paid' && refunds.length + disputes.length > 0
        ? { reversals: reversalsOf(refunds, disputes) }
        : {}),
    });
  }
  const invoices = cosmosInvoiceStore(cosmos.containers.invoices, { clock: systemClock, shards });
  for (const [from, to] of [
    [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 12)],
    [Date.UTC(2026, 0, 3), Date.UTC(2026, 0, 5)],
  ] as const) {
    for (const only of [{}, { currency: 'JPY' }]) {
      const period = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      const reported = reportedFigures(csvOf(await addUp(invoices.movements({ ...period, ...only }))));
      const { figures, invoices: counted } = await countDocuments(cosmos.containers.invoices, {
        from,
        to,
        ...only,
      });
      expect(counted).toBe(400);
      expect(reported.size).toBeGreaterThan(3);
      expect(differences(['report', reported], ['documents', figures])).toEqual([]);
    }
  }
});

describe('differences', () => {
  const figures: Figures = new Map([['2026-01-01 USD paid', { count: 2, minor: 300n }]]);

  test.each([
    ['another sum', new Map([['2026-01-01 USD paid', { count: 2, minor: 299n }]])],
    ['another count', new Map([['2026-01-01 USD paid', { count: 3, minor: 300n }]])],
    ['nothing', new Map()],
    ['more', new Map([...figures, ['2026-01-01 USD refunded', { count: 1, minor: 1n }] as const])],
    ['another day', new Map([['2026-01-02 USD paid', { count: 2, minor: 300n }]])],
  ])('%s is one', (_, other) => {
    expect(differences(['a', figures], ['b', other])).not.toEqual([]);
    expect(differences(['a', other], ['b', figures])).not.toEqual([]);
    expect(differences(['a', figures], ['b', new Map(figures)])).toEqual([]);
  });
});

test('the ledger counts in minor units, and names what only one side has', () => {
  const counts = { counts: true };
  const recorded = new Map([
    ['pi_1', counts],
    ['pi_2', { counts: false }],
    ['re_1', counts],
    ['dp_1', counts],
    ['pi_gone', counts],
  ]);
  const charge = { id: 'ch', amount: 100, status: 'succeeded' };
  const { figures, missing } = countLedger(
    {
      charges: [
        { ...charge, paymentIntent: 'pi_1', currency: 'ISK' },
        { ...charge, paymentIntent: 'pi_2', currency: 'USD' },
        { ...charge, paymentIntent: 'pi_new', currency: 'USD' },
      ],
      refunds: [
        { id: 're_1', amount: 40, currency: 'USD', status: 'pending' },
        { id: 're_2', amount: 50, currency: 'USD', status: 'failed' },
      ],
      disputes: [
        { id: 'dp_1', amount: 10, currency: 'USD', status: 'lost' },
        { id: 'dp_2', amount: 20, currency: 'USD', status: 'won' },
      ],
    },
    { recorded },
  );
  expect(Object.fromEntries(figures)).toEqual({
    'ISK paid': { count: 1, minor: 1n },
    'USD refunded': { count: 1, minor: 40n },
    'USD disputed': { count: 1, minor: 10n },
    'USD disputeLost': { count: 1, minor: 10n },
  });
  expect(missing).toEqual(['pi_new is in the ledger only: paid 100 USD', 'pi_gone is not in the ledger']);
});

test('the command compares report, documents and ledger, and fails on a payment that is not recorded', async () => {
  await using own = await payonceCosmos();
  const payments = await startPayments({});
  try {
    const stripe = new Stripe(payments.secretKey, {
      host: '127.0.0.1',
      port: payments.port,
      protocol: 'http',
      telemetry: false,
    });
    const pay = (id: string) =>
      stripe.paymentIntents.create({
        amount: 1999,
        currency: 'usd',
        customer: 'cus-1',
        payment_method: 'pm_card_visa',
        allowed_payment_method_types: ['card'],
        off_session: true,
        confirm: true,
        metadata: { invoiceId: id },
      });
    const { id } = await pay('inv-1');
    const refund = await stripe.refunds.create({ payment_intent: id, amount: 500 });
    const paidAt = '2026-01-01T10:00:00.000Z';
    const reversals = reversalsOf(
      [
        {
          id: 'r',
          providerId: refund.id,
          amountMinor: 500,
          status: 'succeeded',
          at: '2026-01-02T10:00:00.000Z',
        },
      ],
      [],
    );
    await store(
      { id: 'inv-1', status: 'paid', payment: { ...anInvoice().payment, id, paidAt }, reversals },
      own,
    );
    await store({ id: 'inv-3', status: 'declined', declinedAt: paidAt }, own);
    const recount = () =>
      runProgram(program, ['--from', '2026-01-01', '--to', '2026-01-31'], {
        PATH: process.env.PATH,
        Cosmos: own.connectionString,
        STRIPE_API_BASE: payments.baseUrl,
      });
    expect(await recount()).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /USD declined\t1999\t\(1\)[\s\S]*USD paid\t1999\t\(1\)[\s\S]*USD refunded\t500[\s\S]*Everything adds up/,
      ),
    });
    const other = await pay('inv-2');
    expect(await recount()).toMatchObject({
      code: 1,
      output: expect.stringContaining(`${other.id} is in the ledger only`),
    });
  } finally {
    await payments.stop();
  }
});

test('the command names what is wrong with its arguments', async () => {
  const { code, output } = await runProgram(program, ['--from', 'May'], { PATH: process.env.PATH });
  expect(code).toBe(2);
  expect(output).toMatch(/a day like 2026-10-31[\s\S]*from[\s\S]*Cosmos/);
});

test('archived invoices count by the sums that the database keeps of them', async () => {
  await using other = await payonceCosmos();
  const sums = { '2026-01-05 USD paid': [3, '600'], '2026-01-06 EUR refunded': [1, '50'] };
  await other.containers.invoices.items.create({
    id: ':archived:2026-01',
    shard: '00',
    type: 'archivedSums',
    sums,
  });
  const totals = { 'status paid': [3, '0'], charges: [3, '0'] };
  await other.containers.invoices.items.create({
    id: ':archived:totals',
    shard: '00',
    type: 'archivedSums',
    sums: totals,
  });
  await store({ id: 'still-there', status: 'paid', payment: paidOn('2026-01-05T10:00:00.000Z') }, other);
  const { code, output } = await runProgram(program, ['--from', '2026-01-05', '--to', '2026-01-06'], {
    PATH: process.env.PATH,
    Cosmos: other.connectionString,
  });
  expect(output).toContain('4 invoices counted');
  expect(output).toContain('USD paid\t2599\t(4)');
  expect(output).toContain('Everything adds up.');
  expect(code).toBe(0);
});

function paidOn(paidAt: string): Invoice['payment'] {
  return { ...anInvoice().payment, id: 'pi_1', paidAt };
}
