/**
 * A storm of random operations on two real hosts: people retry, void, refund, move and pause, alone and in bulk, and press again
 * when they hear nothing; others pay, refund and dispute in the same account. In the end every invoice must agree with the
 * provider's ledger to the minor unit (agree.ts).
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Stripe from 'stripe';
import { type Child, startChild } from '../../local/start/child.ts';
import { freePorts } from '../../packages/local-azure/src/freePorts.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { removeFolder } from '../support/removeFolder.ts';
import { type SeededRandom, seededRandom } from '../support/seededRandom.ts';
import { deployment, disagreements, readLedger, readStored, type StormInvoice, unsettled } from './agree.ts';

export interface StormOptions {
  seed: number;
  operations: number;
  invoices: number;
  /** People and others at work side by side. */
  atOnce: number;
  /** Milliseconds until everything must agree. */
  withinMs: number;
  print: (line: string) => void;
}

export interface StormReport {
  /** Operations, by their name and how they were answered. */
  answers: Record<string, number>;
  /** Invoices by status. */
  statuses: Record<string, number>;
  /** Payments that others made, and refunds and disputes in the ledger. */
  ledger: Record<string, number>;
  seconds: number;
  problems: string[];
}

const shards = 4;
const due = '2025-01-01T00:00:00Z';
const later = '2099-01-01T00:00:00Z';

const methods: readonly string[] = [
  ...Array.from({ length: 8 }, () => 'pm_card_visa'),
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_chargeDeclinedExpiredCard',
  'pm_local_resetAfterChargeOnce',
  'pm_local_resetAfterCharge',
  'pm_local_resetBeforeChargeOnce',
  'pm_local_serverErrorAfterCharge',
  'pm_local_detached_1',
  'pm_usBankAccount_processing',
  'pm_card_local_processing',
];

type Operation = (invoice: StormInvoice) => Promise<string>;

export async function storm(options: StormOptions): Promise<StormReport> {
  const { seed, operations, atOnce, withinMs, print } = options;
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'payonce-storm-'));
  await using running = new AsyncDisposableStack();
  running.defer(() => removeFolder(folder));
  const cloud = running.use(await startLocalCloud({ searchLagMs: 1_000 }));
  const addresses = await Promise.all(['a', 'b'].map((name) => startHost(cloud, { folder, name, running })));
  const stripe = stripeClient({ secretKey: cloud.paymentsKey, apiBase: cloud.payments, timeoutMs: 10_000 });
  const answers: Record<string, number> = {};
  const people = peopleAt(addresses, random);
  const invoices = invoicesOf(options, random);
  for (let from = 0; from < invoices.length; from += 100)
    await people.call('POST', 'invoices', { body: invoices.slice(from, from + 100) });
  const all = operationsOf({ people, stripe, payments: cloud.payments, random });
  const began = performance.now();
  let left = operations;
  await Promise.all(Array.from({ length: atOnce }, work));
  await people.call('POST', 'resume', {});
  const problems = await settled();
  const [stored, ledger] = [await readStored(cloud), await readLedger(stripe)];
  return {
    answers,
    statuses: countsOf(stored.map(({ status }) => status)),
    ledger: {
      payments: ledger.payments.length,
      'by others': ledger.payments.filter(({ metadata }) => metadata.deployment !== deployment).length,
      refunds: ledger.refunds.length,
      disputes: ledger.disputes.length,
    },
    seconds: Math.round((performance.now() - began) / 1000),
    problems,
  };

  async function work(): Promise<void> {
    while (left-- > 0) {
      if (left % 250 === 0) print(`${left} operations are left`);
      const [name, run] = random.pick(all);
      const outcome = await run(random.pick(invoices)).catch((error: unknown) => `failed: ${String(error)}`);
      const counted = `${name} ${outcome}`;
      answers[counted] = (answers[counted] ?? 0) + 1;
    }
  }

  /** Once nothing moves any more: people do what is asked of them, and then all must agree. */
  async function settled(): Promise<string[]> {
    const deadline = performance.now() + withinMs;
    const retried = new Set<string>();
    let looks = 0;
    for (;;) {
      const stored = await readStored(cloud);
      const open = unsettled(stored);
      const wrong = open.length > 0 ? open : disagreements(stored, await readLedger(stripe), await figures());
      if (wrong.length === 0 || performance.now() > deadline) return wrong;
      if (looks++ % 20 === 0) print(`${wrong.length} do not agree yet: ${wrong[0]}`);
      for (const { id, status, reversals } of stored) {
        if (status === 'parked' && !retried.has(id)) {
          retried.add(id);
          await people.call('POST', `invoices/${id}/retry`, { body: { reason: 'the storm is over' } });
        }
        for (const { id: refundId, mayBe } of reversals?.refunds ?? [])
          if (mayBe !== undefined) {
            const word = { refundId, providerId: mayBe, reason: 'both were meant' };
            const settle = (isSame: boolean) =>
              people.call('POST', `invoices/${id}/refund/settle`, { body: { ...word, isSame } });
            const { status: answer } = await settle(false);
            // Too little is left for both.
            if (answer === 409) await settle(true);
          }
      }
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  /** The report of all that happened, and what a recount would correct. */
  async function figures(): Promise<{ report: unknown; recount: unknown }> {
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const from = day(Date.now() - 86_400_000);
    const report = await people.call('GET', `report?from=${from}&to=${day(Date.now())}`, {});
    const recount = await people.call('POST', 'recount', { body: { reason: 'the storm is over' } });
    return { report: report.body, recount: recount.body };
  }
}

interface Starting {
  folder: string;
  name: string;
  running: AsyncDisposableStack;
}

async function startHost(cloud: LocalCloud, { folder, name, running }: Starting): Promise<string> {
  const settings: Record<string, string> = {
    ...settingsFor(cloud),
    DEPLOYMENT_ID: deployment,
    SHARDS: String(shards),
    INVOICE_SCHEDULE: '*/2 * * * * *',
    OUTBOX_SCHEDULE: '* * * * * *',
    CLAIM_STALE_SECONDS: '10',
    AzureFunctionsJobHost__extensions__queues__visibilityTimeout: '00:00:01',
  };
  const envFile = join(folder, `env-${name}`);
  writeFileSync(
    envFile,
    Object.entries(settings)
      .map(([key, value]) => `${key}=${value}\n`)
      .join(''),
  );
  const [port = 0] = await freePorts(1);
  const args = ['packages/local-azure/src/functionsHost/main.ts', '--port', `${port}`, '--env-file', envFile];
  const logFile = join(folder, `host-${name}.log`);
  const host: Child = await startChild(`host-${name}`, args, { env: { INSTANCE_ID: name }, logFile });
  running.defer(() => host.stop(5_000));
  return `http://127.0.0.1:${port}/api/ops`;
}

interface Asked {
  body?: unknown;
  key?: string;
}

type People = ReturnType<typeof peopleAt>;

function peopleAt(addresses: readonly string[], random: SeededRandom) {
  const send = (method: string, path: string, { body, key }: Asked, signal?: AbortSignal) =>
    fetch(`${random.pick(addresses)}/${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });

  async function call(method: string, path: string, asked: Asked) {
    const response = await send(method, path, asked);
    return { status: response.status, body: await response.json() };
  }

  return {
    call,
    /** Asks again under the same key while the answer is lost, which happens to one in three. */
    async press(method: string, path: string, asked: Asked): Promise<string> {
      for (let tries = 0; ; tries++) {
        if (tries < 3 && random.next() < 0.33) {
          // Nobody waits for it: it may arrive, and be carried out.
          const hangUp = AbortSignal.timeout(random.between(1, 40));
          const answered = await send(method, path, asked, hangUp)
            .then(
              (response) => response.text().then(() => true),
              () => false,
            )
            .catch(() => false);
          if (!answered) continue;
        }
        const { status } = await call(method, path, asked);
        if (status !== 503 || tries >= 2) return String(status);
      }
    },
  };
}

function invoicesOf({ invoices: count, seed }: StormOptions, random: SeededRandom): StormInvoice[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `storm-${seed}-${n}`,
    customerId: `cus_${n % 20}`,
    amountMinor: 1_000 + n,
    currency: random.pick(['USD', 'EUR', 'JPY']),
    dueAt: random.next() < 0.7 ? due : later,
    paymentMethod: random.pick(methods),
  }));
}

function operationsOf({
  people,
  stripe,
  payments,
  random,
}: {
  people: People;
  stripe: Stripe;
  payments: string;
  random: SeededRandom;
}): readonly (readonly [string, Operation])[] {
  let count = 0;
  const reason = () => `reason ${count++}`;
  const key = () => `key-${count++}`;
  const used: Asked[] = [];
  const paidElsewhere =
    (changes: {
      metadata?: Record<string, string>;
      customer?: string;
      more?: number;
      paymentMethod?: string;
    }): Operation =>
    async ({ id, customerId, amountMinor, currency }) => {
      const intent = await stripe.paymentIntents.create({
        amount: amountMinor + (changes.more ?? 0),
        currency: currency.toLowerCase(),
        customer: changes.customer ?? customerId,
        payment_method: changes.paymentMethod ?? 'pm_card_visa',
        allowed_payment_method_types: ['card'],
        off_session: true,
        confirm: true,
        metadata: { invoiceId: id, ...changes.metadata },
      });
      return intent.status;
    };
  /** One of the payments of an invoice, in the provider's dashboard. */
  const paymentOf = async ({ id, customerId }: StormInvoice) => {
    const { data } = await stripe.paymentIntents.list({ customer: customerId, limit: 100 });
    return data.find(({ metadata, status }) => metadata.invoiceId === id && status === 'succeeded');
  };
  const local = async (path: string, body: unknown) => {
    const response = await fetch(`${payments}/_local/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return String(response.status);
  };

  const refund: Operation = async ({ id, amountMinor }) => {
    const amount = random.next() < 0.5 ? {} : { amountMinor: random.between(1, amountMinor) };
    const asked = { body: { reason: reason(), ...amount }, key: key() };
    used.push(asked);
    return people.press('POST', `invoices/${id}/refund`, asked);
  };
  const retry =
    (wish: () => object): Operation =>
    ({ id }) =>
      people.press('POST', `invoices/${id}/retry`, { body: { reason: reason(), ...wish() } });
  const bulk =
    (action: string, filter: object): Operation =>
    () =>
      people.press('POST', 'bulk', { body: { action, filter, reason: reason(), cap: 20 }, key: key() });

  const weighted: readonly (readonly [number, string, Operation])[] = [
    [16, 'refund', refund],
    [
      4,
      'refund again',
      async ({ id }) =>
        people.press('POST', `invoices/${id}/refund`, used.at(-random.between(1, 20)) ?? { key: key() }),
    ],
    [12, 'retry', retry(() => ({}))],
    [6, 'retry with notCharged', retry(() => ({ notCharged: true }))],
    [6, 'retry with another method', retry(() => ({ paymentMethod: 'pm_card_visa' }))],
    [10, 'void', ({ id }) => people.press('POST', `invoices/${id}/void`, { body: { reason: reason() } })],
    [
      8,
      'move',
      ({ id }) => people.press('PATCH', `invoices/${id}`, { body: { dueAt: random.pick([due, later]) } }),
    ],
    [2, 'bulk retry', bulk('retry', { status: 'parked' })],
    [1, 'bulk retry of declined', bulk('retry', { status: 'declined' })],
    [1, 'bulk void', bulk('void', { status: 'declined' })],
    [
      1,
      'pause',
      async () => {
        const answer = await people.press('POST', 'pause', { body: { reason: reason() } });
        await new Promise((resolve) => setTimeout(resolve, random.between(100, 4_000)));
        await people.press('POST', 'resume', {});
        return answer;
      },
    ],
    [1, 'recount', () => people.press('POST', 'recount', { body: { reason: reason() } })],
    [5, 'paid by a shop', paidElsewhere({})],
    [2, 'paid by a shop, another amount', paidElsewhere({ more: 500 })],
    [2, 'paid by another customer', paidElsewhere({ customer: 'cus_other' })],
    [3, 'paid by another deployment', paidElsewhere({ metadata: { deployment: 'another' } })],
    [
      6,
      'refunded in the dashboard',
      async (invoice) => {
        const payment = await paymentOf(invoice);
        if (payment === undefined) return 'nothing';
        const amount = random.next() < 0.3 ? {} : { amount: random.between(1, payment.amount) };
        return (
          (
            await stripe.refunds
              .create({ payment_intent: payment.id, ...amount })
              .catch(() => ({ status: 'refused' }))
          ).status ?? ''
        );
      },
    ],
    [
      5,
      'disputed',
      async (invoice) => {
        const payment = await paymentOf(invoice);
        if (payment === undefined) return 'nothing';
        const amount = random.next() < 0.5 ? {} : { amount: random.between(1, payment.amount) };
        return local('disputes', { paymentIntent: payment.id, inquiry: random.next() < 0.2, ...amount });
      },
    ],
    [
      4,
      'dispute decided',
      async () => {
        const { data } = await stripe.disputes.list({ limit: 100 });
        const open = data.filter(({ status }) => status === 'needs_response');
        if (open.length === 0) return 'nothing';
        return local(`disputes/${random.pick(open).id}`, { status: random.pick(['won', 'lost']) });
      },
    ],
  ];
  return weighted.flatMap(([weight, name, run]) =>
    Array.from({ length: weight }, () => [name, run] as const),
  );
}

function countsOf(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, of]) => [name, of.length]));
}
