import { z } from 'zod';
import { startPayments } from '../../local/stripe/index.ts';
import { createProcessWorkItem } from '../../packages/jobs/src/workItems/processWorkItem.ts';
import { defineStage } from '../../packages/jobs/src/workItems/workItem.ts';
import { checkPayments } from '../../src/after/checkPayments.ts';
import { paymentEventStage } from '../../src/after/eventStage.ts';
import { createReceiveEvent } from '../../src/after/receiveEvent.ts';
import { reconciliationStage } from '../../src/after/reconciliation.ts';
import { claimBatch } from '../../src/claiming/claimBatch.ts';
import { type Invoice, invoiceSchema } from '../../src/invoice/invoice.ts';
import { createPayBatch } from '../../src/paying/payBatch.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeSignedEvents } from '../../src/stripe/stripeEvents.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryEffects } from '../memory/memoryEffects.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { addAll } from '../support/importing.ts';
import { everybodyHolds } from '../support/layerSwitches.ts';
import { aRun, followUpsForTests, hour, minute } from '../support/payingWorld.ts';
import { type SeededRandom, seededRandom } from '../support/seededRandom.ts';
import { unpaced } from '../support/unpaced.ts';
import { virtualClock } from '../support/virtualClock.ts';
import { type Delivery, type StormEvent, stormDeliveries, stormSecrets } from './deliveries.ts';
import { type Ledger, mismatches } from './mismatches.ts';

export interface StormOptions {
  seed: number;
  invoices: number;
  /** Requests to the route of events, at least. */
  deliveries: number;
}

export interface StormReport {
  /** Requests by what they were and how they were answered. */
  answers: Record<string, number>;
  /** Invoices by status. */
  invoices: Record<string, number>;
  /** Number of payment events that were handled, by result. */
  results: Record<string, number>;
  charges: number;
  refunds: number;
  disputes: number;
  /** Answers that were not the expected ones, and invoices that do not match the ledger. */
  problems: string[];
}

const shards = 16;
/** Soft declines are tried for 11 days, and each try of a bank debit takes up to 14. */
const days = 70;

const methods: readonly (readonly [method: string, currency: string])[] = [
  ['pm_card_visa', 'USD'],
  ['pm_card_visa', 'USD'],
  ['pm_card_chargeDeclinedInsufficientFunds', 'USD'],
  ['pm_card_chargeDeclinedLostCard', 'USD'],
  ['pm_local_resetAfterChargeOnce', 'USD'],
  ['pm_local_resetAfterCharge', 'USD'],
  ['pm_local_resetBeforeChargeOnce', 'USD'],
  ['pm_local_serverErrorAfterCharge', 'USD'],
  ['pm_card_local_processingSucceeds', 'USD'],
  ['pm_card_local_processingFails', 'USD'],
  ['pm_usBankAccount_success', 'USD'],
  ['pm_usBankAccount_insufficientFunds', 'USD'],
  ['pm_usBankAccount_dispute', 'USD'],
  ['pm_sepaDebit_success_de', 'EUR'],
  ['pm_sepaDebit_successDelayed_de', 'EUR'],
  ['pm_sepaDebit_failed_de', 'EUR'],
  ['pm_bacsDebit_success', 'GBP'],
  ['pm_bacsDebit_debitNotAuthorized', 'GBP'],
];

/**
 * Pays invoices while events about them rain down: each at least once, some often, in any order, from several versions of
 * the API, among forged and foreign ones, some before their invoice is settled. The queue, the provider's answers and the
 * process fail now and then. Then every invoice is compared with the provider's ledger.
 */
export async function eventStorm({ seed, invoices: count, deliveries }: StormOptions): Promise<StormReport> {
  const random = seededRandom(seed);
  const clock = virtualClock(Date.parse('2026-03-01T00:00:00Z'));
  const now = () => clock.now();
  await using payments = await startPayments({ searchLagMs: minute, clock });
  const options = { secretKey: payments.secretKey, apiBase: payments.baseUrl, timeoutMs: 20_000 };
  const stripe = stripeClient(options);
  const documents = memoryDocuments({ now });
  const invoices = memoryInvoiceStore(documents, { clock, shards });
  const instance = anInstance({ name: 'host-s', clock });
  const provider = unpaced(faltering(stripeProvider(options), random), { clock });
  const parts = {
    invoices,
    provider,
    followUps: followUpsForTests,
    settlement: defaultSettlementPolicy,
    instance,
  };

  const answers: Record<string, number> = {};
  const problems: string[] = [];
  const queue: { message: unknown; at: number }[] = [];
  const receipts: string[] = [];
  const effects = memoryEffects();
  const receiptStage = defineStage({
    name: 'receipt',
    lease: false,
    input: z.unknown(),
    async handle(_input, { resourceId }) {
      receipts.push(resourceId);
      return {};
    },
  });
  const process = createProcessWorkItem({
    stages: [receiptStage, reconciliationStage(parts), paymentEventStage(parts)],
    effects,
    locks: everybodyHolds,
    sendAgain: async (message, delayMs) => void queue.push({ message, at: clock.now() + delayMs }),
    instance,
  });
  const receive = createReceiveEvent({
    read: stripeSignedEvents(stormSecrets, now),
    async send(text) {
      if (random.next() < 0.02) throw new Error('the queue is away');
      queue.push({ message: JSON.parse(text), at: clock.now() });
    },
    instance,
  });

  const make = stormDeliveries(random, now);
  const known: StormEvent[] = [];
  let toDeliver: StormEvent[] = [];
  let delivered = 0;

  async function readEvents(): Promise<void> {
    for (let more = true; more;) {
      const last = known.at(-1)?.id;
      const page = await stripe.events.list({
        limit: 100,
        ...(last === undefined ? {} : { ending_before: last }),
      });
      const events = (page.data as unknown as StormEvent[]).toReversed();
      // Without a place to begin, the newest come first: there are few then.
      known.push(...events);
      toDeliver.push(...events);
      more = last !== undefined && page.has_more;
    }
  }

  async function deliver({ what, body, signature, expected, event }: Delivery): Promise<void> {
    delivered++;
    const bytes = new TextEncoder().encode(body);
    const { status } = await receive({
      headers: new Headers(signature === null ? {} : { 'stripe-signature': signature }),
      body: new Blob([bytes]).stream(),
    });
    const name = `${what}: ${status}`;
    answers[name] = (answers[name] ?? 0) + 1;
    if (status === 503) {
      if (event !== undefined) toDeliver.push(event);
    } else if (status !== expected) problems.push(`${name}, expected ${expected}: ${body.slice(0, 200)}`);
  }

  /** Some of what there is to deliver, in any order, with what else arrives meanwhile. */
  async function rain(share: number): Promise<void> {
    await readEvents();
    if (known.length === 0) return;
    const [now, later] = [[], []] as [StormEvent[], StormEvent[]];
    for (const event of toDeliver) (random.next() < share ? now : later).push(event);
    toDeliver = later;
    for (const event of shuffled(now, random)) {
      await deliver(make.real(event));
      while (random.next() < 0.4) await deliver(make.real(random.pick(known)));
      while (random.next() < 0.25) await deliver(make.stray(known));
    }
  }

  /** Does what is due on the queue, in any order; a message comes twice now and then. */
  async function work(): Promise<void> {
    for (let due = takeDue(); due.length > 0; due = takeDue()) {
      await inParallel(shuffled(due, random), 4, async (message) => {
        try {
          await process(message);
          if (random.next() < 0.05) await process(message);
        } catch (error) {
          problems.push(`a work item failed: ${String(error)} ${JSON.stringify(message)}`);
        }
      });
    }
  }

  function takeDue(): unknown[] {
    const due = queue.filter(({ at }) => at <= clock.now());
    for (const one of due) queue.splice(queue.indexOf(one), 1);
    return due.map(({ message }) => message);
  }

  const taken = new Set<string>();
  /** Takes the messages for the queue from the outbox, each to be delivered when it is due. */
  async function sweep(): Promise<void> {
    const stored = await documents.query(
      (document) =>
        document.type === 'outboxMessage' && document.destination === 'work-items' && !taken.has(document.id),
    );
    for (const { id, body, nextAttemptAt } of stored) {
      taken.add(id);
      const at = typeof nextAttemptAt === 'string' ? Date.parse(nextAttemptAt) : clock.now();
      for (const message of z.array(z.unknown()).parse(body)) queue.push({ message, at });
    }
  }

  /** The consumer's provider: events, and even a refund, may come between a charge and its settlement. */
  const hasty: PaymentProvider = {
    ...stripeProvider(options),
    async charge(request) {
      const outcome = await stripeProvider(options).charge(request);
      if (outcome.kind === 'succeeded' && random.next() < 0.03)
        await refund(outcome.paymentId, request.amountMinor);
      if (random.next() < 0.2) {
        await rain(0.7);
        await work();
      }
      return outcome;
    },
  };
  const pay = createPayBatch(
    {
      ...parts,
      provider: unpaced(hasty, { clock, atOnce: 4 }),
      sender: { busy: () => ({ [Symbol.dispose]() {} }) },
    },
    {
      settlement: defaultSettlementPolicy,
      claimStaleMs: 5 * minute,
      callWindowMs: 4 * minute,
      lingerMs: 1,
    },
  );

  async function payDue(): Promise<void> {
    const iso = new Date(now()).toISOString();
    for (let number = 0; number < shards; number++) {
      const shard = number.toString(16).padStart(2, '0');
      for await (const due of invoices.due({ shard, now: iso, pageSize: 20 })) {
        const claiming = { invoices, followUps: followUpsForTests, claimStaleMs: 5 * minute };
        const { message } = await claimBatch(claiming, shard, due, aRun());
        if (message !== undefined) await pay(paymentBatchSchema.parse(message.body));
      }
    }
  }

  async function refund(paymentId: string, amountMinor: number): Promise<void> {
    const amount = random.next() < 0.5 ? amountMinor : random.between(1, amountMinor);
    // It refuses what is disputed or refunded already.
    await stripe.refunds.create({ payment_intent: paymentId, amount }).catch(() => {});
  }

  async function local(path: string, body?: object): Promise<unknown> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await fetch(`${payments.baseUrl}/_local/${path}`, init)).json();
  }

  /** Refunds and disputes that nobody asked us for. */
  async function reverseSome(): Promise<void> {
    const paid = (await all()).filter(({ status }) => status === 'paid');
    for (const { payment, amountMinor } of paid) {
      if (payment.id === undefined || random.next() > 0.02) continue;
      if (random.next() < 0.6) await refund(payment.id, amountMinor);
      else await local('disputes', { paymentIntent: payment.id, inquiry: random.next() < 0.2 });
    }
    const open = z.array(z.object({ id: z.string(), status: z.string() })).parse(await local('disputes'));
    for (const { id, status } of open) {
      const isOpen = status !== 'won' && status !== 'lost' && status !== 'warning_closed';
      if (!isOpen || random.next() > 0.3) continue;
      const inquiry = status.startsWith('warning_');
      await local(`disputes/${id}`, { status: inquiry ? 'warning_closed' : random.pick(['won', 'lost']) });
    }
  }

  async function all(): Promise<Invoice[]> {
    const stored = await documents.query(({ type }) => type === 'invoice');
    return stored.map((one) => invoiceSchema.parse(one));
  }

  const check = () => checkPayments(parts, { assertHeld() {} }, new AbortController().signal);

  await addAll(
    invoices,
    Array.from({ length: count }, (_, n) => {
      const [paymentMethod, currency] = random.pick(methods);
      return {
        id: `inv-${n}`,
        customerId: `cus_${n % 50}`,
        amountMinor: 1_000 + n,
        currency,
        dueAt: new Date(clock.now() + random.between(0, 3 * 24) * hour).toISOString(),
        paymentMethod,
      };
    }),
    { by: 'storm', withinMs: minute },
  );
  for (let day = 0; day < days; day++) {
    await payDue();
    await sweep();
    if (day < days - 20) await reverseSome();
    await rain(random.next());
    await work();
    await clock.advance(12 * hour);
    if (random.next() < 0.3) await check();
    await rain(0.9);
    await work();
    await clock.advance(12 * hour);
  }
  await readEvents();
  while (toDeliver.length > 0 || delivered < deliveries) {
    await rain(1);
    await deliver(make.real(random.pick(known)));
    await deliver(make.stray(known));
    await work();
  }
  for (let n = 0; n < 100 && queue.length > 0; n++) {
    await clock.advance(15 * minute);
    await sweep();
    await work();
  }
  if (queue.length > 0) problems.push(`${queue.length} work items are still waiting`);

  const ledger: Ledger = {
    charges: (await local('charges')) as Ledger['charges'],
    refunds: (await local('refunds')) as Ledger['refunds'],
    disputes: (await local('disputes')) as Ledger['disputes'],
  };
  const stored = await all();
  problems.push(...mismatches(stored, ledger, receipts));
  return {
    answers,
    invoices: counted(stored.map(({ status }) => status)),
    results: counted(
      effects
        .all()
        .filter(({ item }) => item.stage === 'payment-event')
        .map(({ effect }) => String(effect.result)),
    ),
    charges: ledger.charges.length,
    refunds: ledger.refunds.length,
    disputes: ledger.disputes.length,
    problems,
  };
}

/** Reads fail now and then, as they do. */
function faltering(provider: Required<PaymentProvider>, random: SeededRandom): PaymentProvider {
  const falters = () => random.next() < 0.03;
  const silent = { kind: 'unknown', message: 'no answer' } as const;
  return {
    ...provider,
    retrieve: async (id, deployment) => (falters() ? silent : provider.retrieve(id, deployment)),
    find: async (sought) => (falters() ? silent : provider.find(sought)),
  };
}

async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  each: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of left) await each(item);
    }),
  );
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  return items
    .map((item) => ({ item, place: random.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

function counted(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]),
  );
}
