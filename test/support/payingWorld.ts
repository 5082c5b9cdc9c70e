import { startPayments } from '../../local/stripe/index.ts';
import { cosmosDocuments } from '../../packages/jobs/src/documents/cosmosDocuments.ts';
import type { OutboxMessage } from '../../packages/jobs/src/outbox/outboxMessage.ts';
import { type Clock, systemClock } from '../../packages/leases/src/clock.ts';
import { receiptFollowUp } from '../../src/after/receipts.ts';
import { reconciliationFollowUp } from '../../src/after/reconciliation.ts';
import { webhookFollowUp } from '../../src/after/webhook.ts';
import { type ClaimingRun, claimBatch } from '../../src/claiming/claimBatch.ts';
import { type FollowUps, followUpsOf } from '../../src/invoice/followUps.ts';
import { type Invoice, invoiceSchema } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import type { InvoiceStore } from '../../src/invoice/store/invoiceStore.ts';
import { newInvoice, sendingStore } from '../../src/invoice/store/invoiceWrites.ts';
import { createPayBatch, type PayingParts } from '../../src/paying/payBatch.ts';
import type { PayingPolicy } from '../../src/paying/payingPolicy.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { type PaymentBatch, paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { anInstance } from './anInstance.ts';
import { payonceCosmos } from './payonceCosmos.ts';
import { putCounted } from './putCounted.ts';
import { recordedTelemetry } from './recordedTelemetry.ts';
import { unpaced } from './unpaced.ts';

/** Real time, but every wait is short. */
export const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 2), signal),
};

/** The run `run-1` of `host-a`, under the lease of group 0 with fence 1; `lease` changes parts of that lease. */
export function aRun({
  lease,
  ...changes
}: Partial<Omit<ClaimingRun, 'lease'>> & { lease?: Partial<ClaimingRun['lease']> } = {}): ClaimingRun {
  return {
    runId: 'run-1',
    instance: 'host-a',
    lease: { key: 'jobs/process-invoices/0', fence: 1, assertHeld() {}, ...lease },
    ...changes,
  };
}

/** The follow-ups of an app without a webhook, and of one with. */
export const followUpsForTests: FollowUps = followUpsOf([receiptFollowUp, reconciliationFollowUp]);
export const followUpsWithWebhook: FollowUps = followUpsOf([
  receiptFollowUp,
  reconciliationFollowUp,
  webhookFollowUp,
]);

export interface LedgerRow {
  invoiceId: string;
  amount: number;
  idempotencyKey: string;
}

/** Options of a test's claims. */
export interface ClaimOptions {
  run?: ClaimingRun;
  /** Negative: the claims are stale from the start. */
  claimStaleMs?: number;
  followUps?: FollowUps;
  /** The store that is written to. */
  invoices?: Pick<InvoiceStore, 'claim'>;
}

/** The number of shards of the stores in these tests. */
export const shards = 256;

export const minute = 60_000;
export const hour = 60 * minute;

/** All it takes to go from claim to settlement: Cosmos, the payments stand-in with its ledger, and a consumer. */
export async function payingWorld() {
  const cosmos = await payonceCosmos();
  const payments = await startPayments({ searchLagMs: 0 });
  const container = cosmos.containers.invoices;
  const invoices = cosmosInvoiceStore(container, { clock: hastyClock, shards });
  const documents = cosmosDocuments(container);
  const telemetry = recordedTelemetry();
  const provider = stripeProvider({
    secretKey: payments.secretKey,
    apiBase: payments.baseUrl,
    timeoutMs: 2_000,
  });
  let shardNumber = 0;
  let name = 0;

  const world = {
    cosmos,
    container,
    invoices,
    telemetry,
    provider,
    secretKey: payments.secretKey,
    apiBase: payments.baseUrl,

    /** Stores due invoices, in a shard of their own if `changes` names none; their ids are unique in this world. */
    async dueInvoices(
      count: number,
      changes: Partial<Invoice> = {},
    ): Promise<{ shard: string; ids: string[] }> {
      const shard = changes.shard ?? (shardNumber++).toString(16).padStart(2, '0');
      const ids: string[] = [];
      // A store finds an invoice's shard by hashing its id.
      while (ids.length < count) {
        const id = `inv-${name++}`;
        if (shardOf(id, shards) === shard) ids.push(id);
      }
      const due = ids.map((id, n): Invoice => {
        const content = {
          id,
          customerId: 'cus_1',
          amountMinor: 1_000 + n,
          currency: 'USD',
          dueAt: '2026-01-01T00:00:00.000Z',
          paymentMethod: 'pm_card_visa',
        };
        const invoice = newInvoice(content, { shard, at: '2025-12-01T00:00:00.000Z', by: 'test' });
        return { ...invoice, _etag: '', ...changes };
      });
      await putCounted(documents, due, hastyClock.now());
      return { shard, ids };
    },

    /** Claims what is due in a shard at `at` (milliseconds, default now), as a run does. */
    async claimDue(
      shard: string,
      {
        run = aRun(),
        claimStaleMs = 5 * minute,
        followUps = followUpsForTests,
        invoices: store = invoices,
      }: ClaimOptions = {},
    ) {
      const now = new Date(hastyClock.now()).toISOString();
      const pages = invoices.due({ shard, now, pageSize: 100 });
      const due = (await Array.fromAsync(pages)).flat();
      return claimBatch({ invoices: store, followUps, claimStaleMs }, shard, due, run);
    },

    /** Due invoices, claimed in one batch. */
    async claimedBatch(
      count: number,
      changes: Partial<Invoice> = {},
      claim: ClaimOptions = {},
    ): Promise<{ batch: PaymentBatch; shard: string; ids: string[] }> {
      const { shard, ids } = await world.dueInvoices(count, changes);
      const { message } = await world.claimDue(shard, claim);
      return { batch: paymentBatchSchema.parse(message?.body), shard, ids };
    },

    /** Makes waiting invoices of a shard due now, so that the next run takes them. Past the store, so its figures are counted again. */
    async makeDue(shard: string, ids: readonly string[]): Promise<void> {
      for (const { id, actionableAt } of await world.stored(shard, ids)) {
        if (actionableAt === undefined) continue;
        await container
          .item(id, shard)
          .patch([{ op: 'set', path: '/actionableAt', value: '2026-01-01T00:00:00.000Z' }]);
      }
      await invoices.recount(shard);
    },

    /** The invoices in the order of `ids`. */
    async stored(shard: string, ids: readonly string[]): Promise<Invoice[]> {
      const query = `SELECT * FROM c WHERE c.type = 'invoice'`;
      const { resources } = await container.items.query<unknown>(query, { partitionKey: shard }).fetchAll();
      const found = new Map(
        resources.map((each) => invoiceSchema.parse(each)).map((each) => [each.id, each]),
      );
      return ids.flatMap((id) => found.get(id) ?? []);
    },

    /** All outbox messages of a shard for the work item queue. */
    async workItemMessages(shard: string): Promise<OutboxMessage[]> {
      const query = `SELECT * FROM c WHERE c.type = 'outboxMessage' AND c.destination = 'work-items'`;
      const { resources } = await container.items
        .query<OutboxMessage>(query, { partitionKey: shard })
        .fetchAll();
      return resources;
    },

    /**
     * Builds a consumer: its parts and policy, the messages that it passed on, and the function that pays a
     * batch.
     */
    consumer(
      changes: Partial<
        Omit<PayingParts, 'provider'> &
          PayingPolicy & { clock: Clock; provider: PaymentProvider; concurrentCalls: number }
      > = {},
    ) {
      const {
        clock = hastyClock,
        provider: called = provider,
        concurrentCalls,
        invoices: given,
        ...rest
      } = changes;
      const atOnce = concurrentCalls === undefined ? {} : { atOnce: concurrentCalls };
      const handedOn: OutboxMessage[] = [];
      const sender = {
        busy: () => ({ [Symbol.dispose]() {} }),
        sendWhenIdle: (message: OutboxMessage) => void handedOn.push(message),
        async send(message: OutboxMessage) {
          handedOn.push(message);
          return { kind: 'dispatched' as const };
        },
      };
      const parts: PayingParts = {
        invoices: sendingStore({ ...invoices, ...given }, sender),
        provider: unpaced(called, { clock: rest.instance?.clock ?? clock, ...atOnce }),
        followUps: followUpsForTests,
        sender,
        instance: anInstance({ name: 'host-b', clock, telemetry }),
        ...rest,
      };
      const policy: PayingPolicy = {
        settlement: defaultSettlementPolicy,
        claimStaleMs: 5 * minute,
        callWindowMs: 4 * minute,
        lingerMs: 1,
        ...rest,
      };
      return { parts, policy, handedOn, pay: createPayBatch(parts, policy) };
    },

    /** The charges that moved money for these invoices. */
    async charges(ids: readonly string[]): Promise<LedgerRow[]> {
      const response = await fetch(`${payments.baseUrl}/_local/charges`);
      const rows = (await response.json()) as LedgerRow[];
      return rows.filter(({ invoiceId }) => ids.includes(invoiceId));
    },

    /** Makes the next matching calls fail; see local/stripe/faults.ts. */
    async paymentFault(fault: { kind: string; count?: number; delayMs?: number; filter?: object }) {
      const response = await fetch(`${payments.baseUrl}/_local/faults`, {
        method: 'POST',
        body: JSON.stringify(fault),
      });
      if (!response.ok) throw new Error(await response.text());
    },

    async [Symbol.asyncDispose]() {
      await payments.stop();
      await cosmos[Symbol.asyncDispose]();
    },
  };
  return world;
}

export type PayingWorld = Awaited<ReturnType<typeof payingWorld>>;

/** A provider that records its calls, and that a test can override. */
export function watchedProvider(real: PaymentProvider, changes: Partial<PaymentProvider> = {}) {
  const calls: { charge: string[]; find: string[] } = { charge: [], find: [] };
  const chosen = { ...real, ...changes };
  const provider: PaymentProvider = {
    ...chosen,
    charge(request) {
      calls.charge.push(request.idempotencyKey);
      return chosen.charge(request);
    },
    find(sought) {
      calls.find.push(sought.invoiceId);
      return chosen.find(sought);
    },
  };
  return { provider, calls };
}
