import { startPayments } from '../../local/stripe/index.ts';
import { claimBatch } from '../../src/claiming/claimBatch.ts';
import type { Claimant } from '../../src/claiming/planClaims.ts';
import { type Invoice, newInvoice } from '../../src/invoice/invoice.ts';
import { actionableInvoices, readInvoices } from '../../src/invoice/readInvoices.ts';
import type { Backlog } from '../../src/outbox/backlog.ts';
import type { OutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { defaultSettlementPolicy } from '../../src/paying/decideSettlement.ts';
import type { ExecutePaymentsDependencies } from '../../src/paying/payBatch.ts';
import { type PaymentBatch, paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { stripeProvider } from '../../src/paying/stripe/stripeProvider.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { payonceCosmos } from './payonceCosmos.ts';
import { recordedTelemetry } from './recordedTelemetry.ts';

/** Real time, but no wait is longer than a moment. */
export const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 2), signal),
};

export function aClaimant(changes: Partial<Claimant> = {}): Claimant {
  return {
    runId: 'run-1',
    by: 'host-a',
    lockKey: 'jobs/process-invoices/0',
    fence: 1,
    assertHeld() {},
    ...changes,
  };
}

export interface LedgerRow {
  invoiceId: string;
  amount: number;
  idempotencyKey: string;
}

/** How the claims of a test are to be. */
export interface ClaimOptions {
  claimant?: Claimant;
  /** Negative: the claims are stale from the beginning. */
  claimStaleMs?: number;
  notifies?: boolean;
}

export const minute = 60_000;
export const hour = 60 * minute;

/** What the way from claim to settlement needs: Cosmos, the payments stand-in with its ledger, and a consumer. */
export async function payingWorld() {
  const cosmos = await payonceCosmos();
  const payments = await startPayments({ searchLagMs: 0 });
  const container = cosmos.containers.invoices;
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
    telemetry,
    provider,

    /** Stores due invoices in a shard of their own; their ids are unique in this world. */
    async dueInvoices(
      count: number,
      changes: Partial<Invoice> = {},
    ): Promise<{ shard: string; ids: string[] }> {
      const shard = (shardNumber++).toString(16).padStart(2, '0');
      const ids = Array.from({ length: count }, () => `inv-${name++}`);
      for (const [n, id] of ids.entries()) {
        const content = {
          id,
          customerId: 'cus_1',
          amountMinor: 1_000 + n,
          currency: 'USD',
          dueAt: '2026-01-01T00:00:00.000Z',
          paymentMethod: 'pm_card_visa',
        };
        const invoice = newInvoice(content, { shard, at: '2025-12-01T00:00:00.000Z', by: 'test' });
        await container.items.create({ ...invoice, ...changes });
      }
      return { shard, ids };
    },

    /** Claims what is due in a shard at `at` (milliseconds; now if absent), as a run does. */
    async claimDue(
      shard: string,
      { claimant = aClaimant(), claimStaleMs = 5 * minute, notifies = false }: ClaimOptions = {},
    ) {
      const now = new Date(hastyClock.now()).toISOString();
      const pages = actionableInvoices(container, { shard, now, pageSize: 100 });
      const due = (await Array.fromAsync(pages)).flat();
      return claimBatch({ container, clock: hastyClock, claimStaleMs, notifies }, shard, due, claimant);
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

    /** Makes whatever waits in a shard due now, so that the next run takes it. */
    async makeDue(shard: string, ids: readonly string[]): Promise<void> {
      for (const { id, actionableAt } of await world.stored(shard, ids)) {
        if (actionableAt === undefined) continue;
        await container
          .item(id, shard)
          .patch([{ op: 'set', path: '/actionableAt', value: '2026-01-01T00:00:00.000Z' }]);
      }
    },

    /** The invoices in the order of `ids`. */
    async stored(shard: string, ids: readonly string[]): Promise<Invoice[]> {
      const found = new Map((await readInvoices(container, shard, ids)).map((each) => [each.id, each]));
      return ids.flatMap((id) => found.get(id) ?? []);
    },

    /** All outbox messages of a shard for the queue of work items. */
    async workItemMessages(shard: string): Promise<OutboxMessage[]> {
      const query = `SELECT * FROM c WHERE c.type = 'outboxMessage' AND c.destination = 'work-items'`;
      const { resources } = await container.items
        .query<OutboxMessage>(query, { partitionKey: shard })
        .fetchAll();
      return resources;
    },

    /** What a consumer works with, and the messages that it gave on. */
    consumer(changes: Partial<ExecutePaymentsDependencies> = {}) {
      const handedOn: OutboxMessage[] = [];
      const followUps: Backlog = {
        add: (message) => void handedOn.push(message),
        busy: () => ({ [Symbol.dispose]() {} }),
        drained: async () => {},
      };
      const dependencies: ExecutePaymentsDependencies = {
        container,
        provider,
        followUps,
        clock: hastyClock,
        telemetry,
        limit: (call) => call(),
        policy: defaultSettlementPolicy,
        claimStaleMs: 5 * minute,
        callWindowMs: 4 * minute,
        lingerMs: 1,
        by: 'host-b',
        notifies: false,
        ...changes,
      };
      return { dependencies, handedOn };
    },

    /** The charges that moved money for these invoices. */
    async charges(ids: readonly string[]): Promise<LedgerRow[]> {
      const response = await fetch(`${payments.baseUrl}/_local/charges`);
      const rows = (await response.json()) as LedgerRow[];
      return rows.filter(({ invoiceId }) => ids.includes(invoiceId));
    },

    /** The next calls that match meet a fault; see local/stripe/faults.ts. */
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

/** A provider whose calls are written down, and which a test may change. */
export function watchedProvider(real: PaymentProvider, changes: Partial<PaymentProvider> = {}) {
  const calls: { charge: string[]; find: string[] } = { charge: [], find: [] };
  const chosen = { ...real, ...changes };
  const provider: PaymentProvider = {
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
