import Stripe from 'stripe';
import { serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { LocalCloud } from '../support/localCloud.ts';
import { callsHaveBegun } from './callsHaveBegun.ts';
import { onlyRefund, refundProblems } from './onlyRefund.ts';
import type { Scenario } from './trial.ts';

const webhookSecret = 'whsec_crashTestSecretOfTheSweep0123456789';

/** All that the sweep lets happen, once without a crash and then with one at each request. */
export const scenarios: readonly Scenario[] = [
  { name: 'one-invoice', invoices: 1, hosts: 1 },
  { name: 'two-hosts', invoices: 1, hosts: 2, races: true },
  // Timing decides how often the sweeper runs before everything is done.
  { name: 'sweeper', invoices: 1, hosts: 1, sweeper: true, races: true },
  { name: 'batch', invoices: 20, hosts: 1 },
  {
    // The payment is in progress, and nobody but the timer asks how it stands.
    name: 'look-up',
    invoices: 1,
    hosts: 1,
    // Timing decides how often the timer runs before everything is done.
    races: true,
    occurrences: 2,
    paymentMethod: 'pm_card_local_processingSucceeds',
    async meanwhile({ cloud, invoices, run }) {
      // The work that follows from a check waits in the outbox for the next sweep.
      if (invoices.some(({ status }) => status === 'paid')) await run('sweepOutbox');
      const waiting = invoices.filter(({ status }) => status === 'processing');
      if (waiting.length === 0) return;
      await letProviderFinish(cloud);
      await makeChecksDue(
        cloud,
        waiting.map(({ id }) => id),
      );
      await run('trackPayments');
    },
  },
  {
    // The payment is in progress, and the provider tells that it has ended, again and again until the invoice is paid.
    name: 'event',
    invoices: 1,
    hosts: 1,
    // Timing decides how often the provider tells it.
    races: true,
    occurrences: 2,
    env: { STRIPE_WEBHOOK_SECRETS: webhookSecret },
    paymentMethod: 'pm_card_local_processingSucceeds',
    async meanwhile({ cloud, invoices, call, run }) {
      // The work that follows from an event waits in the outbox for the next sweep.
      if (invoices.some(({ status }) => status === 'paid')) await run('sweepOutbox');
      const waiting = invoices.filter(({ status }) => status === 'processing');
      if (waiting.length === 0) return;
      await letProviderFinish(cloud);
      for (const { id } of waiting) await call('POST', 'payments/events', ...(await signedEvent(cloud, id)));
    },
  },
  {
    // Somebody asks for a refund again and again under the same key, and the sweeper sends what orders it.
    name: 'refund',
    invoices: 1,
    hosts: 1,
    // Timing decides how often the sweeper runs before everything is done.
    races: true,
    occurrences: 2,
    async meanwhile({ invoices, call, run }) {
      for (const { id, status } of invoices) {
        if (status !== 'paid') continue;
        await call('POST', `ops/invoices/${id}/refund`, ...onlyRefund);
      }
      await run('sweepOutbox');
    },
    problems: refundProblems,
  },
  {
    // Somebody voids two invoices while a batch pays them, and asks again until that is settled: one is charged or voided, never
    // both, and one is declined and can be voided then.
    name: 'void',
    invoices: 2,
    hosts: 1,
    // A void that comes before the claim, or before its look, makes other requests.
    races: true,
    paymentMethod: ['pm_card_visa', 'pm_card_chargeDeclinedExpiredCard'],
    before: (cloud) => slowCharges(cloud, { delayMs: 300, count: 2 }),
    ends: ['paid', 'voided'],
    async meanwhile({ invoices, call, run }) {
      const open = invoices.filter(({ status }) => status !== 'paid' && status !== 'voided');
      // The receipt of a payment that a void has found waits in the outbox for the next sweep.
      if (open.length === 0) return run('sweepOutbox');
      for (const { id } of open) await call('POST', `ops/invoices/${id}/void`, { reason: 'sent by mistake' });
    },
  },
  {
    // The message comes again while its calls are in flight: they are made again, in small parts, each under a new start.
    name: 'called-again',
    invoices: 3,
    hosts: 1,
    // Either delivery may be the first to settle an invoice.
    races: true,
    occurrences: 2,
    env: { CLAIM_STALE_SECONDS: '10' },
    async before(cloud) {
      await slowCharges(cloud, { delayMs: 1_500, count: 3 });
      void deliverAgain(cloud).catch(() => {});
    },
    async meanwhile({ invoices, run }) {
      if (invoices.some(({ status }) => status === 'paid')) await run('sweepOutbox');
    },
  },
  {
    // The host is stopped while its calls wait for their turns: it returns those that have not begun, and another host
    // pays them.
    name: 'give-back',
    invoices: 16,
    hosts: 1,
    stops: true,
    // Timing decides how far the calls have come by then.
    races: true,
    occurrences: 2,
    env: { PAYMENT_RATE: '1', CLAIM_STALE_SECONDS: '60' },
    meanwhile: ({ run }) => run('sweepOutbox'),
  },
  {
    // The first card is declined for good, so somebody gives another one.
    name: 'retry-method',
    invoices: 1,
    hosts: 1,
    // Timing decides how often the job runs before everything is done.
    races: true,
    paymentMethod: 'pm_card_chargeDeclinedExpiredCard',
    async meanwhile({ invoices, call }) {
      for (const { id, status } of invoices) {
        if (status === 'declined')
          await call('POST', `ops/invoices/${id}/retry`, { paymentMethod: 'pm_card_visa' });
      }
    },
  },
];

/** Longer than a card stays in progress at the stand-in, in milliseconds. */
const cardProcessingMs = 11 * 60_000;

/** Lets the provider's clock run until the payments in progress have ended. */
async function letProviderFinish({ payments }: LocalCloud): Promise<void> {
  await fetch(`${payments}/_local/clock`, {
    method: 'POST',
    body: JSON.stringify({ advanceMs: cardProcessingMs }),
  });
}

/** The next check of these invoices is due now: nobody waits for it. */
async function makeChecksDue({ cosmosClient }: LocalCloud, ids: readonly string[]): Promise<void> {
  const container = cosmosClient.database(databaseName).container(containers.invoices.name);
  const { resources } = await container.items
    .query<{ id: string; shard: string }>({
      query: 'SELECT c.id, c.shard FROM c WHERE ARRAY_CONTAINS(@ids, c.id)',
      parameters: [{ name: '@ids', value: [...ids] }],
    })
    .fetchAll();
  for (const { id, shard } of resources) {
    const operations = [{ op: 'set' as const, path: '/checkAt', value: '2026-01-01T00:00:00.000Z' }];
    // A check that was faster has cleared it.
    const condition = `from c where c.status = 'processing'`;
    await container
      .item(id, shard)
      .patch({ condition, operations })
      .catch(() => {});
  }
}

/** The next charges take a while, so that a claim can be met while it is being paid. */
async function slowCharges(
  { payments }: LocalCloud,
  delay: { delayMs: number; count: number },
): Promise<void> {
  const faults = `${payments}/_local/faults`;
  await fetch(faults, { method: 'DELETE' });
  await fetch(faults, { method: 'POST', body: JSON.stringify({ kind: 'delay', ...delay }) });
}

/** Ends the lock of the message that is being paid, once its calls have begun: it comes again at once. */
async function deliverAgain(cloud: LocalCloud): Promise<void> {
  await callsHaveBegun(cloud);
  const body = JSON.stringify({ kind: 'expire-locks', queue: serviceBusQueues.paymentCommands });
  await fetch(`${cloud.serviceBusLocal}/_local/faults`, { method: 'POST', body });
}

/** The event with which the provider tells that an invoice's payment has succeeded, and the header that signs it. */
async function signedEvent(
  { cosmosClient }: LocalCloud,
  invoiceId: string,
): Promise<[unknown, Record<string, string>]> {
  const container = cosmosClient.database(databaseName).container(containers.invoices.name);
  const { resources } = await container.items
    .query<string>({
      query: 'SELECT VALUE c.payment.inProgress.id FROM c WHERE c.id = @id',
      parameters: [{ name: '@id', value: invoiceId }],
    })
    .fetchAll();
  const [paymentId = ''] = resources;
  const event = {
    id: `evt_${paymentId}`,
    object: 'event',
    created: Math.floor(Date.now() / 1000),
    type: 'payment_intent.succeeded',
    data: {
      object: { id: paymentId, object: 'payment_intent', status: 'succeeded', metadata: { invoiceId } },
    },
  };
  const payload = JSON.stringify(event);
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret });
  return [event, { 'stripe-signature': signature }];
}
