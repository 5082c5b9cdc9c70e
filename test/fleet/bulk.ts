import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readFigures } from '../../local/start/figures.ts';
import { listReceipts, readQueueCounts } from '../support/audit.ts';
import type { LocalCloud } from '../support/localCloud.ts';
import type { Fleet } from './fleet.ts';
import type { BulkSize } from './seedBulk.ts';

const wanted = {
  retry: { action: 'retry', filter: { status: 'parked', reason: 'provider was away' }, reason: 'it is back' },
  outbox: { action: 'redrive', filter: { from: 'outbox' }, reason: 'the queue is back' },
  deadLetters: { action: 'redrive', filter: { from: 'dead-letters' }, reason: 'the shard is back' },
};
type Name = keyof typeof wanted;
const names = Object.keys(wanted) as Name[];

/** Ids of the runs. */
export type BulkOrders = Readonly<Record<Name, string>>;

const runSchema = z.object({
  status: z.string(),
  counts: z.record(z.string(), z.number()),
  reason: z.string().nullable(),
});

/** Gives the three calls, each as often as it takes: the key keeps it to one run. */
export async function orderBulk(fleet: Fleet): Promise<BulkOrders> {
  const [retry, outbox, deadLetters] = await Promise.all(names.map((name) => order(fleet, name)));
  if (retry === undefined || outbox === undefined || deadLetters === undefined)
    throw new Error('an order is missing');
  return { retry, outbox, deadLetters };
}

async function order(fleet: Fleet, name: Name): Promise<string> {
  for (;;) {
    const response = await fleet.call('bulk', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `campaign-${name}` },
      body: JSON.stringify(wanted[name]),
    });
    const answer = z.object({ runId: z.string() }).safeParse(await response?.json().catch(() => undefined));
    if (answer.success) return answer.data.runId;
    await delay(200);
  }
}

async function readBulkRun(fleet: Fleet, runId: string): Promise<z.infer<typeof runSchema> | undefined> {
  const response = await fleet.call(`runs/${runId}`);
  return runSchema.safeParse(await response?.json().catch(() => undefined)).data;
}

/** Number of these runs that have not ended, as far as is known. */
export async function bulkRunsOpen(fleet: Fleet, orders: BulkOrders | undefined): Promise<number> {
  const runs = await Promise.all(names.map(async (name) => orders && readBulkRun(fleet, orders[name])));
  return runs.filter((run) => run === undefined || run.status === 'running').length;
}

/** Each thing is retried or redriven once, and the audit says who and why; else what does not add up, in words. */
export async function bulkProblems(
  cloud: LocalCloud,
  fleet: Fleet,
  size: BulkSize,
  orders: BulkOrders,
): Promise<string[]> {
  const problems: string[] = [];
  const expectCount = (what: string, found: unknown, expected: unknown) => {
    if (found !== expected) problems.push(`${what}: expected ${String(expected)}, found ${String(found)}`);
  };
  const expected = { retry: size.invoices, outbox: size.messages, deadLetters: size.deadLetters };
  for (const name of names) {
    const run = await readBulkRun(fleet, orders[name]);
    expectCount(`run ${name} (${run?.reason})`, run?.status, 'completed');
    const { retried, redriven } = run?.counts ?? {};
    expectCount(`${name}: done, as the run says`, name === 'retry' ? retried : redriven, expected[name]);
  }

  const database = cloud.cosmosClient.database('payonce');
  const container = database.container('invoices');
  const { resources: invoices } = await container.items
    .query<{ id: string; timeline: { what: string; by: string; reason?: string; runId?: string }[] }>(
      `SELECT c.id, c.timeline FROM c WHERE c.type = 'invoice'`,
    )
    .fetchAll();
  const { charges } = await readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments });
  const charged = Map.groupBy(charges, ({ invoiceId }) => invoiceId);
  for (const { id, timeline } of invoices) {
    const retried = timeline.filter(({ what }) => what === 'retried');
    expectCount(`${id}: retries`, retried.length, 1);
    expectCount(`${id}: why`, retried[0]?.reason, wanted.retry.reason);
    expectCount(`${id}: run`, retried[0]?.runId, orders.retry);
    expectCount(`${id}: charges`, charged.get(id)?.length ?? 0, 1);
  }
  const { resources: messages } = await container.items
    .query<{ redrivenBy?: string; status: string }>(
      `SELECT c.redrivenBy, c.status FROM c WHERE c.type = 'outboxMessage' AND STARTSWITH(c.id, 'message-')`,
    )
    .fetchAll();
  const redriven = messages.filter((one) => one.redrivenBy === orders.outbox && one.status === 'dispatched');
  expectCount('outbox messages redriven and sent', redriven.length, size.messages);
  const { resources: audit } = await database
    .container('audit')
    .items.query<{
      action: string;
      target: string;
      actor: string;
      detail: { reason?: string; ids?: string };
    }>('SELECT * FROM c')
    .fetchAll();
  const receipts = await listReceipts(cloud, 'receipt-');
  expectCount('receipts of the redriven messages', receipts.length, size.messages);
  for (const name of names) {
    const own = audit.filter(({ target }) => target === `bulk/${orders[name]}`);
    expectCount(
      `${name}: audit records of its start`,
      own.filter(({ action }) => action.startsWith('start')).length,
      1,
    );
    expectCount(
      `${name}: reasons in the audit`,
      own.every(({ detail }) => detail.reason === wanted[name].reason),
      true,
    );
    const named = new Set(own.flatMap(({ detail }) => detail.ids?.split(' ') ?? []));
    expectCount(`${name}: ids in the audit`, named.size, expected[name]);
  }
  expectCount('dead letters left', (await readQueueCounts(cloud)).deadLettered, 0);
  return problems;
}
