import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { readFigures } from '../../local/start/figures.ts';
import { blobContainers, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { createGate } from '../crash/gate.ts';
import { startHttpTap } from '../crash/httpTap.ts';
import { watchTakenMessages } from '../crash/takenMessages.ts';
import { startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { until } from '../support/until.ts';
import { type BulkSize, seedBulk } from './seedBulk.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
const shards = 4;
const names = ['a', 'b', 'c'];

export interface Campaign extends BulkSize {
  seed: number;
  /** Maximum number of hosts killed while the runs go on, and time between two kills (ms). */
  kills: number;
  killEveryMs: number;
  /** Milliseconds until everything must have ended. */
  withinMs: number;
}

const wanted = {
  retry: { action: 'retry', filter: { status: 'parked', reason: 'provider was away' }, reason: 'it is back' },
  outbox: { action: 'redrive', filter: { from: 'outbox' }, reason: 'the queue is back' },
  deadLetters: { action: 'redrive', filter: { from: 'dead-letters' }, reason: 'the shard is back' },
};
type Name = keyof typeof wanted;

const runSchema = z.object({
  status: z.string(),
  counts: z.record(z.string(), z.number()),
  reason: z.string().nullable(),
});

/** Parks thousands of things, gives three calls, and kills hosts until their runs have ended. Then everything must add up. */
export async function bulkCampaign({ seed, kills, killEveryMs, withinMs, ...size }: Campaign) {
  const random = seededRandom(seed);
  await using cloud = await startLocalCloud();
  await seedBulk(cloud, shards, size);
  const generations = new Map<string, number>();
  const start = (name: string): Promise<Host> => {
    const generation = (generations.get(name) ?? 0) + 1;
    generations.set(name, generation);
    return startHost(cloud, `host-${name}${generation}`);
  };
  const hosts = await Promise.all(names.map(start));
  const began = performance.now();
  let killed = 0;
  try {
    const runIds = new Map<Name, string>();
    for (const name of Object.keys(wanted) as Name[]) runIds.set(name, await order(hosts, name));
    const killing = killSome();
    const ended = new Map<Name, z.infer<typeof runSchema>>();
    for (const [name, runId] of runIds) {
      const run = await until(
        () => readRun(hosts, runId),
        (one) => one !== undefined && one.status !== 'running',
        { withinMs },
      );
      if (run !== undefined) ended.set(name, run);
    }
    killed = (await killing).kills;
    const seconds = (performance.now() - began) / 1000;
    const paid = async () =>
      (await readFigures({ cosmos: cloud.cosmosClient, payments: cloud.payments })).invoices;
    await until(paid, (invoices) => invoices.every(({ status }) => status === 'paid'), { withinMs });
    await until(
      () => receipts(cloud),
      (count) => count === size.invoices + size.messages,
      { withinMs },
    );
    const problems = await check(cloud, size, runIds, ended);
    return { problems, seconds: Math.round(seconds), kills: killed, runs: Object.fromEntries(ended) };
  } finally {
    await Promise.all(hosts.map((host) => host[Symbol.asyncDispose]()));
  }

  /** One host after another is killed and comes back. */
  async function killSome(): Promise<{ kills: number }> {
    let done = 0;
    for (; done < kills; done++) {
      await delay(killEveryMs * (0.5 + random.next()));
      const index = Math.floor(random.next() * hosts.length);
      await hosts[index]?.[Symbol.asyncDispose]();
      hosts[index] = await start(names[index] ?? 'a');
    }
    return { kills: done };
  }
}

interface Host extends AsyncDisposable {
  address: string;
}

/**
 * Starts a host whose storage queues are behind a tap. What a host holds when it is killed stays invisible: a work item for ten
 * minutes, a message of the task hub for one. The tap knows these messages, and makes them visible at once.
 */
async function startHost(cloud: LocalCloud, instance: string): Promise<Host> {
  await using starting = new AsyncDisposableStack();
  const taken = watchTakenMessages(() => true);
  const { origin } = new URL(cloud.queues.url);
  const gate = createGate();
  const ignore = () => undefined;
  const tap = await startHttpTap({
    target: origin,
    gate,
    describe: ignore,
    kill: ignore,
    answered: taken.answered,
  });
  starting.defer(async () => {
    await tap.stop();
    await taken.giveBack(cloud.queues);
  });
  const storage = cloud.storage.replace(origin, `http://127.0.0.1:${tap.port}`);
  const host = await startHostProcess({
    app,
    args: ['--no-timer-singleton'],
    env: {
      ...settingsFor({ ...cloud, storage }),
      INSTANCE_ID: instance,
      SHARDS: `${shards}`,
      SHARD_GROUPS: '2',
      LEASE_SECONDS: '15',
      PAYMENT_RATE: '400',
      INVOICE_SCHEDULE: '*/2 * * * * *',
      OUTBOX_SCHEDULE: '*/2 * * * * *',
    },
  });
  starting.use(host);
  const running = starting.move();
  return { address: host.address, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Any host that answers. A call is sent again until one does: the key keeps it to one run. */
async function ask<T>(hosts: readonly Host[], call: (address: string) => Promise<T>): Promise<T> {
  return until(
    async () => {
      for (const { address } of hosts) {
        try {
          return await call(address);
        } catch {
          // It was killed: another one answers.
        }
      }
      return undefined;
    },
    (answer) => answer !== undefined,
  ) as Promise<T>;
}

function order(hosts: readonly Host[], name: Name): Promise<string> {
  return ask(hosts, async (address) => {
    const response = await fetch(`${address}/api/ops/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `campaign-${name}` },
      body: JSON.stringify(wanted[name]),
    });
    if (response.status !== 202) throw new Error(await response.text());
    return z.object({ runId: z.string() }).parse(await response.json()).runId;
  });
}

function readRun(hosts: readonly Host[], runId: string) {
  return ask(hosts, async (address) =>
    runSchema.parse(await (await fetch(`${address}/api/ops/runs/${runId}`)).json()),
  );
}

async function receipts(cloud: LocalCloud): Promise<number> {
  let count = 0;
  for await (const _ of cloud.blobs.getContainerClient(blobContainers.receipts).listBlobsFlat()) count++;
  return count;
}

/** Lists what does not add up, in words. */
async function check(
  cloud: LocalCloud,
  size: BulkSize,
  runIds: ReadonlyMap<Name, string>,
  ended: ReadonlyMap<Name, z.infer<typeof runSchema>>,
): Promise<string[]> {
  const problems: string[] = [];
  const expectCount = (what: string, found: unknown, expected: unknown) => {
    if (found !== expected) problems.push(`${what}: expected ${String(expected)}, found ${String(found)}`);
  };
  const counts = (name: Name) => ended.get(name)?.counts ?? {};
  for (const [name, { status, reason }] of ended) expectCount(`run ${name} (${reason})`, status, 'completed');
  expectCount('retried, as the run says', counts('retry').retried, size.invoices);
  expectCount('redriven, as the run says', counts('outbox').redriven, size.messages);
  expectCount('dead letters redriven, as the run says', counts('deadLetters').redriven, size.deadLetters);

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
    expectCount(`${id}: run`, retried[0]?.runId, runIds.get('retry'));
    expectCount(`${id}: charges`, charged.get(id)?.length ?? 0, 1);
  }
  const { resources: messages } = await container.items
    .query<{ redrivenBy?: string; status: string }>(
      `SELECT c.redrivenBy, c.status FROM c WHERE c.type = 'outboxMessage' AND STARTSWITH(c.id, 'message-')`,
    )
    .fetchAll();
  const runId = runIds.get('outbox');
  const redriven = messages.filter((one) => one.redrivenBy === runId && one.status === 'dispatched');
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
  for (const [name, id] of runIds) {
    const own = audit.filter(({ target }) => target === `bulk/${id}`);
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
    const expected = { retry: size.invoices, outbox: size.messages, deadLetters: size.deadLetters }[name];
    expectCount(`${name}: ids in the audit`, named.size, expected);
  }
  const queue = await commandQueue(cloud);
  expectCount('dead letters left', queue.deadLettered, 0);
  return problems;
}

async function commandQueue({ serviceBusLocal }: LocalCloud) {
  const stats = z.object({ queues: z.record(z.string(), z.object({ deadLettered: z.number() })) });
  const { queues } = stats.parse(await (await fetch(`${serviceBusLocal}/_local/stats`)).json());
  return queues[serviceBusQueues.paymentCommands] ?? { deadLettered: Number.NaN };
}
