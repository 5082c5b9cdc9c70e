import { z } from 'zod';
import { addUp, type Charge, type InvoiceFigure, isSettled, readFigures } from '../../local/start/figures.ts';
import { blobContainers, queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { LocalCloud } from './localCloud.ts';

const queueCounts = z.object({
  active: z.number(),
  scheduled: z.number(),
  locked: z.number(),
  deadLettered: z.number(),
  /** Since the start. */
  abandoned: z.number(),
});
const serviceBusStats = z.object({ queues: z.record(z.string(), queueCounts) });

/** Everything a cloud holds about a set of invoices, and the work still in flight. */
export interface Evidence {
  invoices: InvoiceFigure[];
  /** From the payment stand-in's ledger, the only witness that counts. */
  charges: Charge[];
  /** Names of receipts, `{invoice}/{payment}.json`. */
  receipts: string[];
  /** Number of invoices with a recorded effect of a receipt. */
  effects: number;
  outbox: { pending: number; parked: number };
  paymentCommands: z.infer<typeof queueCounts>;
  /** `poison`: in the poison queue, or recorded and not redriven. */
  workItems: { queued: number; poison: number };
}

/** Reads everything about the invoices whose ids begin with `prefix`. */
export async function gatherEvidence(cloud: LocalCloud, prefix = ''): Promise<Evidence> {
  const database = cloud.cosmosClient.database(databaseName);
  const count = async (container: string, query: string): Promise<number> => {
    const { resources } = await database.container(container).items.query<number>(query).fetchAll();
    return resources[0] ?? 0;
  };
  const messages = `SELECT VALUE COUNT(1) FROM c WHERE c.type = 'outboxMessage' AND c.status =`;
  const [figures, parked, effects, receipts, paymentCommands, queued, poison, poisonRecords] =
    await Promise.all([
      readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments }),
      count(containers.invoices.name, `${messages} 'parked'`),
      recordedReceipts(cloud, prefix),
      listReceipts(cloud, prefix),
      readQueueCounts(cloud),
      queueLength(cloud, queues.workItems),
      queueLength(cloud, queues.workItemsPoison),
      count(containers.workItems.name, `SELECT VALUE COUNT(1) FROM c WHERE c.status = 'poison'`),
    ]);
  return {
    invoices: figures.invoices.filter(({ id }) => id.startsWith(prefix)),
    charges: figures.charges.filter(({ invoiceId }) => invoiceId.startsWith(prefix)),
    receipts,
    effects,
    outbox: { pending: figures.undispatched, parked },
    paymentCommands,
    workItems: { queued, poison: poison + poisonRecords },
  };
}

/** Counts the unfinished pieces of each kind of work; all 0 when there is nothing left to do. Pure. */
export function openWork(evidence: Evidence, now: number) {
  const { invoices, receipts, outbox, paymentCommands, workItems } = evidence;
  const paid = invoices.filter(({ status }) => status === 'paid').length;
  const open = invoices.filter(
    (invoice) => !isSettled({ invoices: [invoice], charges: [], undispatched: 0 }, now),
  );
  return {
    invoices: open.length,
    outbox: outbox.pending,
    batches: paymentCommands.active + paymentCommands.scheduled,
    'locked batches': paymentCommands.locked,
    'work items': workItems.queued,
    receipts: Math.max(0, paid - receipts.length),
  };
}

/** Lists unfinished work, in words; empty when there is nothing left to do. Pure. */
export function unfinished(evidence: Evidence, now: number): string[] {
  return Object.entries(openWork(evidence, now)).flatMap(([kind, open]) =>
    open > 0 ? [`${kind}: ${open} not done`] : [],
  );
}

/** Broken invariants, in words; empty when every invoice adds up. Pure. */
export function violations(evidence: Evidence): string[] {
  const { invoices, charges, receipts, effects, outbox, paymentCommands, workItems } = evidence;
  const paid = invoices.filter(({ status }) => status === 'paid');
  const receiptsOf = Map.groupBy(receipts, (name) => name.slice(0, name.indexOf('/')));
  const wrongReceipts = invoices.flatMap(({ id, status }) => {
    const found = receiptsOf.get(id)?.length ?? 0;
    const wanted = status === 'paid' ? 1 : 0;
    return found === wanted ? [] : [`${id} is ${status} and has ${found} receipts`];
  });
  return [
    ...addUp({ invoices, charges, undispatched: outbox.pending }).problems,
    ...wrongReceipts,
    ...(effects === paid.length ? [] : [`${effects} effects are recorded for ${paid.length} receipts`]),
    ...(outbox.parked > 0 ? [`${outbox.parked} outbox messages are parked`] : []),
    // The queue dead-letters a batch after ten deliveries. The app dead-letters only malformed ones; none are sent here.
    ...(paymentCommands.deadLettered > 0 ? [`${paymentCommands.deadLettered} batches are dead letters`] : []),
    ...(workItems.poison > 0 ? [`${workItems.poison} work items are poison`] : []),
  ];
}

const doneSchema = z.object({ resourceId: z.string(), stage: z.string() });
/** One work item's effect, or those of a message of several. */
const effectDocuments = z.array(z.union([z.object({ effects: z.array(doneSchema) }), doneSchema]));

async function recordedReceipts(cloud: LocalCloud, prefix: string): Promise<number> {
  const container = cloud.cosmosClient.database(databaseName).container(containers.workItems.name);
  const query = `SELECT c.resourceId, c.stage, c.effects FROM c WHERE c.status = 'done'`;
  const { resources } = await container.items.query<unknown>(query).fetchAll();
  const done = effectDocuments.parse(resources).flatMap((one) => ('effects' in one ? one.effects : [one]));
  const receipts = done.filter(
    ({ resourceId, stage }) => stage === 'receipt' && resourceId.startsWith(prefix),
  );
  return new Set(receipts.map(({ resourceId }) => resourceId)).size;
}

/** Names of the receipts of the invoices whose ids begin with `prefix`. */
export async function listReceipts(cloud: LocalCloud, prefix: string): Promise<string[]> {
  const names: string[] = [];
  const container = cloud.blobs.getContainerClient(blobContainers.receipts);
  for await (const { name } of container.listBlobsFlat({ prefix })) names.push(name);
  return names;
}

/** Messages of the queue of payment commands, by place. */
export async function readQueueCounts(cloud: LocalCloud): Promise<z.infer<typeof queueCounts>> {
  const response = await fetch(`${cloud.serviceBusLocal}/_local/stats`);
  const stats = serviceBusStats.parse(await response.json());
  const counts = stats.queues[serviceBusQueues.paymentCommands];
  if (counts === undefined) throw new Error(`Service Bus has no queue ${serviceBusQueues.paymentCommands}`);
  return counts;
}

/** Messages in a queue, including invisible ones. */
export async function queueLength(cloud: LocalCloud, name: string): Promise<number> {
  const properties = await cloud.queues.getQueueClient(name).getProperties();
  return properties.approximateMessagesCount ?? 0;
}
