import { CosmosClient } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { z } from 'zod';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { jobLockPrefix } from '../../packages/leases/src/lockKeys.ts';
import { blobContainers, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { DemoCharge } from './demoState.ts';

const ledgerRows = z.array(
  z.object({ invoiceId: z.string(), idempotencyKey: z.string(), createdAt: z.string() }),
);
const queueStats = z.object({
  queues: z.object({
    [serviceBusQueues.paymentCommands]: z.object({
      active: z.number(),
      locked: z.number(),
      scheduled: z.number(),
    }),
  }),
});
const storedInvoice = z.object({
  id: z.string(),
  status: z.string(),
  amountMinor: z.number(),
  currency: z.string(),
  timeline: z.array(z.object({ at: z.string(), what: z.string(), by: z.string() })),
});
export type ObservedInvoice = z.infer<typeof storedInvoice>;

/** A look at the world. */
export interface Seen {
  due: number;
  paid: number;
  ledger: DemoCharge[];
  queue: { active: number; locked: number; scheduled: number };
  /** Number of groups whose lease each instance was the last to take. */
  leases: Map<string, number>;
}

/** Looks at a world, and breaks its services, past the relays of the hosts. */
export function createObserver(settings: Record<string, string | undefined>) {
  const { Cosmos = '', AzureWebJobsStorage = '', STRIPE_API_BASE, SERVICE_BUS_LOCAL } = settings;
  const cosmos = new CosmosClient(Cosmos);
  const blobs = BlobServiceClient.fromConnectionString(AzureWebJobsStorage);
  const locks = blobLockStore(blobs.getContainerClient(blobContainers.locks));
  const local = {
    payments: `${STRIPE_API_BASE}/_local`,
    serviceBus: `${SERVICE_BUS_LOCAL}/_local`,
    cosmos: `${/AccountEndpoint=([^;]+?)\/?;/.exec(Cosmos)?.[1]}/_local`,
  };
  const { items } = cosmos.database(databaseName).container(containers.invoices.name);
  const query = async (text: string) => (await items.query<unknown>(text).fetchAll()).resources;
  const count = async (where: string) =>
    z
      .array(z.number())
      .parse(await query(`SELECT VALUE COUNT(1) FROM c WHERE c.type = 'invoice'${where}`))[0] ?? 0;
  const readJson = async (url: string): Promise<unknown> => (await fetch(url)).json();
  const listLocks = (prefix: string) => locks.list?.(prefix, AbortSignal.timeout(5_000)) ?? [];

  async function leases(): Promise<Map<string, number>> {
    const holders = new Map<string, number>();
    for await (const { record } of listLocks(`${jobLockPrefix}process-invoices/`))
      if (record !== undefined)
        holders.set(record.owner.instance, (holders.get(record.owner.instance) ?? 0) + 1);
    return holders;
  }

  return {
    /** The invoices with these ids, which need no quotes. */
    async invoices(ids: readonly string[]): Promise<ObservedInvoice[]> {
      if (ids.length === 0) return [];
      const list = ids.map((id) => `'${id}'`).join(', ');
      return z
        .array(storedInvoice)
        .parse(await query(`SELECT * FROM c WHERE c.type = 'invoice' AND c.id IN (${list})`));
    },
    async look(): Promise<Seen> {
      const [due, paid, ledger, stats, held] = await Promise.all([
        count(''),
        count(` AND c.status = 'paid'`),
        readJson(`${local.payments}/charges`),
        readJson(`${local.serviceBus}/stats`),
        leases(),
      ]);
      return {
        due,
        paid,
        ledger: ledgerRows
          .parse(ledger)
          .map((row) => ({ invoice: row.invoiceId, key: row.idempotencyKey, at: row.createdAt })),
        queue: queueStats.parse(stats).queues[serviceBusQueues.paymentCommands],
        leases: held,
      };
    },
    /** Arms these faults and no others. */
    async arm(faults: readonly { service: keyof typeof local; body: unknown }[]): Promise<void> {
      await Promise.all(Object.values(local).map((url) => fetch(`${url}/faults`, { method: 'DELETE' })));
      for (const { service, body } of faults)
        await fetch(`${local[service]}/faults`, { method: 'POST', body: JSON.stringify(body) });
    },
    /** Breaks every lease that is held. */
    async breakLeases(): Promise<void> {
      for await (const { key, held, version } of listLocks(''))
        if (held) await locks.break?.(key, version, AbortSignal.timeout(5_000));
    },
    async [Symbol.asyncDispose]() {
      cosmos.dispose();
      await locks[Symbol.asyncDispose]();
    },
  };
}
