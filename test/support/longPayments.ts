import { type Charge, startPayments } from '../../local/stripe/index.ts';
import { type CheckParts, checkPayments } from '../../src/after/checkPayments.ts';
import { claimBatch } from '../../src/claiming/claimBatch.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { cosmosInvoiceStore } from '../../src/invoice/store/cosmosInvoiceStore.ts';
import { defaultSettlementPolicy } from '../../src/paying/payingPolicy.ts';
import { paymentBatchSchema } from '../../src/paying/paymentBatch.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';
import { anInstance } from './anInstance.ts';
import {
  aRun,
  followUpsWithWebhook,
  hour,
  minute,
  type PayingWorld,
  payingWorld,
  shards,
} from './payingWorld.ts';
import { recordedTelemetry } from './recordedTelemetry.ts';
import { unpaced } from './unpaced.ts';
import { virtualClock } from './virtualClock.ts';

/** A world whose payments take days: the provider and the app share one virtual clock. */
export async function longPayments({ searchLagMs = 60_000 }: { searchLagMs?: number } = {}) {
  const world: PayingWorld = await payingWorld();
  const clock = virtualClock(Date.now());
  const payments = await startPayments({ searchLagMs, clock });
  const provider = stripeProvider({
    secretKey: payments.secretKey,
    apiBase: payments.baseUrl,
    timeoutMs: 10_000,
  });
  const telemetry = recordedTelemetry();
  const instance = anInstance({ name: 'host-t', clock, telemetry });
  const invoices = cosmosInvoiceStore(world.container, { clock, shards });
  const parts: CheckParts = {
    invoices,
    provider: unpaced(provider, { clock }),
    followUps: followUpsWithWebhook,
    settlement: defaultSettlementPolicy,
    instance,
  };

  const local = async (path: string, body?: unknown): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    return (await fetch(`${payments.baseUrl}/_local/${path}`, init)).json();
  };

  return {
    world,
    clock,
    payments,
    provider,
    parts,
    telemetry,
    local,
    /** One due invoice, and what may happen to it. */
    async invoice(changes: Partial<Invoice> = {}) {
      const { shard, ids } = await world.dueInvoices(1, changes);
      const [id = ''] = ids;
      const stored = async (): Promise<Invoice> => {
        const [found] = await world.stored(shard, ids);
        if (found === undefined) throw new Error('no such invoice');
        return found;
      };
      return {
        id,
        shard,
        stored,
        /** Claims it, however long it still had to wait, and pays it. */
        pay: async (): Promise<Invoice> => {
          await world.makeDue(shard, ids);
          const now = new Date(clock.now()).toISOString();
          const due = (await Array.fromAsync(invoices.due({ shard, now, pageSize: 100 }))).flat();
          const claiming = { invoices, followUps: followUpsWithWebhook, claimStaleMs: 5 * minute };
          const { message } = await claimBatch(claiming, shard, due, aRun());
          const batch = paymentBatchSchema.parse(message?.body);
          await world
            .consumer({ invoices, provider, clock, instance, followUps: followUpsWithWebhook })
            .pay(batch);
          return stored();
        },
        /** Lists the work items that follow: the type of a notification, otherwise the stage. */
        ordered: async (): Promise<string[]> => {
          const messages = await world.workItemMessages(shard);
          return messages.flatMap(({ body }) =>
            (body as { stage: string; input: { type?: string } }[]).map(
              ({ stage, input }) => input.type ?? stage,
            ),
          );
        },
        charges: async (): Promise<Charge[]> => {
          const rows = (await local('charges')) as Charge[];
          return rows.filter(({ invoiceId }) => invoiceId === id);
        },
      };
    },
    /** Lets time pass, and asks about every payment whose check is due, as the timer does. */
    async pass(ms: number) {
      await clock.advance(ms);
      return checkPayments(parts, { assertHeld() {} }, new AbortController().signal);
    },
    async [Symbol.asyncDispose]() {
      await payments.stop();
      await world[Symbol.asyncDispose]();
    },
  };
}

export const day = 24 * hour;
