import { setTimeout as delay } from 'node:timers/promises';
import type { InvoiceFigure } from '../../local/start/figures.ts';
import type { InvoiceStatus } from '../../src/invoice/invoiceStatus.ts';
import { blobContainers, queues as queueNames } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { type Evidence, gatherEvidence, unfinished, violations } from '../support/audit.ts';
import type { LocalCloud } from '../support/localCloud.ts';
import { callsHaveBegun } from './callsHaveBegun.ts';
import { type CrashPoint, createGate, type Gate } from './gate.ts';
import { startTappedHost, type TappedHost } from './tappedHost.ts';

export interface Scenario {
  name: string;
  invoices: number;
  /** Number of hosts at the start. */
  hosts: number;
  /** The broker refuses the first sends, so that the sweeper has to send the message. */
  sweeper?: boolean;
  /** Races or timing decide which requests are made, so a trial may never pass its point. */
  races?: boolean;
  /**
   * At most so many of the occurrences of each kind of request are cut: what is repeated until something else has happened
   * is the same each time.
   */
  occurrences?: number;
  /**
   * The host is stopped as Azure stops it, once calls of a batch are in flight, and another takes its place. Only requests
   * from then on are cut.
   */
  stops?: boolean;
  /** Settings of the hosts, besides those of every trial. */
  env?: Readonly<Record<string, string>>;
  /** One for all, or one for each invoice. Default: a card that is charged at once. */
  paymentMethod?: string | readonly string[];
  /** Sets things up before each trial. */
  before?: (cloud: LocalCloud) => Promise<void>;
  /**
   * Acts as somebody does besides importing, and as the provider does besides answering: called again and
   * again, with the host that lives, until nothing is left to do. It may be killed in the middle, so each
   * step has to be one that may be repeated.
   */
  meanwhile?: (world: TrialWorld) => Promise<void>;
  /** Statuses in which an invoice may end. Default: paid. */
  ends?: readonly InvoiceStatus[];
  /** Checks what else has to add up in the end. Resolves with what does not, in words; empty if all does. */
  problems?: (world: TrialWorld) => Promise<string[]>;
}

/** Parts of a trial that the steps of a scenario may look at and act on. */
export interface TrialWorld {
  cloud: LocalCloud;
  invoices: InvoiceFigure[];
  /** A call of the host's HTTP functions, such as `POST ops/runs`. */
  call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
  /** Runs one of the host's timers now. */
  run: (name: string) => Promise<void>;
}

export type Verdict =
  /** The host died there, and everything added up in the end. */
  | { kind: 'held' }
  /** This time the work took another path. */
  | { kind: 'notReached' }
  | { kind: 'broken'; problems: string[] };

export interface TrialResult {
  verdict: Verdict;
  gate: Gate;
  /** Milliseconds from the crash until nothing was left to do. */
  recoveredMs: number;
  /** The invoices' final states. */
  invoices: InvoiceFigure[];
  /** The output of each host, by instance. */
  logs: ReadonlyMap<string, readonly string[]>;
}

/**
 * Milliseconds without any progress after which a trial is broken. On a busy machine a step fails its own time limits and is tried
 * again after 10, 20, 40 and 80 s: meanwhile its message waits in the queue, and nothing is wrong. A message that a dead host holds
 * stays for ten minutes, so it is noticed.
 */
const stuckAfterMs = 200_000;
/** Milliseconds that a trial may take in all, however much moves. */
const settleTimeoutMs = 600_000;
const pollMs = 500;
/** Milliseconds between two sweeps: slightly more than the wait of an outbox message after a failed send. */
const sweepEveryMs = 1_200;
/** Number of failing sends: the SDK's first try and its retry. */
const refusedSends = 2;

const shared = {
  SHARDS: '1',
  SHARD_GROUPS: '1',
  LEASE_SECONDS: '15',
  CLAIM_STALE_SECONDS: '5',
  AzureFunctionsJobHost__extensions__queues__visibilityTimeout: '00:00:01',
};
/** Timers that never fire: a trial runs each function itself, so that only the payment's requests pass the taps. */
const noTimers = { INVOICE_SCHEDULE: '0 0 0 1 1 *', OUTBOX_SCHEDULE: '0 0 0 1 1 *' };
const everySecond = { INVOICE_SCHEDULE: '* * * * * *', OUTBOX_SCHEDULE: '* * * * * *' };

/**
 * Pays invoices from import to receipt on fresh hosts and kills one of them at `point`. Then another host starts, with
 * timers that fire every second, and has to finish what was left behind. Leases, message locks and claims are waited
 * out; only the ten minutes for which a work item was taken are skipped.
 */
export async function runTrial(
  cloud: LocalCloud,
  scenario: Scenario,
  id: string,
  point?: CrashPoint,
): Promise<TrialResult> {
  await forgetDeployment(cloud);
  await using hosts = new AsyncDisposableStack();
  const gate = createGate(point);
  const crashed = Promise.withResolvers<TappedHost>();
  const work = invoicesOf(scenario, id);
  const { ends = ['paid'] } = scenario;
  const logs = new Map<string, readonly string[]>();

  const startVictim = async (number: number): Promise<TappedHost> => {
    const holder: { host?: TappedHost } = {};
    const instance = `${id}-host-${number}`;
    const host = await startTappedHost(cloud, {
      gate,
      env: { ...shared, ...noTimers, ...scenario.env, INSTANCE_ID: instance },
      killed: () => {
        if (holder.host !== undefined) crashed.resolve(holder.host);
      },
    });
    holder.host = host;
    logs.set(instance, host.process.lines);
    hosts.use(host);
    return host;
  };
  const victims = await Promise.all(
    Array.from({ length: scenario.hosts }, (_, index) => startVictim(index + 1)),
  );
  if (scenario.sweeper === true) await refuseSends(cloud);
  await scenario.before?.(cloud);

  if (scenario.stops !== true) gate.open();
  const running = new AbortController();
  const outcome = await Promise.race([
    crashed.promise.then((host) => ({ kind: 'crashed' as const, host })),
    runOnce(victims, running.signal).then((evidence) => ({ kind: 'ended' as const, evidence })),
  ]);
  running.abort();
  if (outcome.kind === 'ended') {
    const uncut: Verdict = { kind: point === undefined ? 'held' : 'notReached' };
    return await resultOf(outcome.evidence, uncut, 0);
  }

  const crashedAt = performance.now();
  await outcome.host.process.exited;
  await clearFaults(cloud);
  const instance = `${id}-rescue`;
  const rescue = await startTappedHost(cloud, {
    gate: createGate(),
    env: { ...shared, ...everySecond, ...scenario.env, INSTANCE_ID: instance },
    killed: () => {},
  });
  logs.set(instance, rescue.process.lines);
  hosts.use(rescue);
  await outcome.host.giveBack();
  await importInvoices(rescue, work);
  const evidence = await untilSettled(rescue);
  return await resultOf(evidence, { kind: 'held' }, performance.now() - crashedAt);

  /** `whole`: the verdict if everything adds up. */
  async function resultOf(found: Evidence, whole: Verdict, recoveredMs: number): Promise<TrialResult> {
    const problems = await findProblems(found);
    const verdict: Verdict = problems.length === 0 ? whole : { kind: 'broken', problems };
    return { verdict, gate, recoveredMs, invoices: found.invoices, logs };
  }

  /** The run without a crash: import, one run of the job and, if the scenario needs it, of the sweeper. */
  async function runOnce(all: readonly TappedHost[], signal: AbortSignal): Promise<Evidence> {
    const [first] = all;
    try {
      if (first === undefined) throw new Error('a trial needs a host');
      await importInvoices(first, work);
      await Promise.all(all.map((host) => runFunction(host, 'processInvoices')));
    } catch (error) {
      // A killed host does not answer.
      if (point === undefined) throw error;
    }
    if (first === undefined) throw new Error('a trial needs a host');
    const left = scenario.stops === true ? await replace(first, signal) : first;
    return untilSettled(left, signal, async (waitedMs, invoices) => {
      // On a busy machine a claim was returned, or a call has timed out.
      if (invoices.some(({ status }) => status === 'pending'))
        await runFunction(left, 'processInvoices').catch(() => {});
      if (scenario.sweeper === true && Math.floor(waitedMs / sweepEveryMs) > 0)
        await runFunction(left, 'sweepOutbox').catch(() => {});
    });
  }

  /** Stops a host in the middle of its calls. The host that takes its place; the old one, if that was killed meanwhile. */
  async function replace(host: TappedHost, signal: AbortSignal): Promise<TappedHost> {
    await callsHaveBegun(cloud);
    gate.open();
    host.process.kill('SIGTERM');
    await host.process.exited;
    if (signal.aborted) return host;
    return startVictim(scenario.hosts + 1);
  }

  async function untilSettled(
    host: TappedHost,
    signal?: AbortSignal,
    meanwhile: (waitedMs: number, invoices: readonly InvoiceFigure[]) => Promise<void> = async () => {},
  ): Promise<Evidence> {
    const started = performance.now();
    let lastSweep = started;
    let progress = { at: started, seen: '' };
    for (;;) {
      const evidence = await gatherEvidence(cloud, id);
      const { invoices } = evidence;
      const ended = invoices.length === work.length && invoices.every(({ status }) => ends.includes(status));
      const world = worldOf(invoices, host);
      const done =
        ended && unfinished(evidence, Date.now()).length === 0 && (await otherProblems(world)).length === 0;
      const seen = JSON.stringify([invoices, unfinished(evidence, Date.now()), evidence.effects]);
      if (seen !== progress.seen) progress = { at: performance.now(), seen };
      const now = performance.now();
      const stuck = now - progress.at > stuckAfterMs || now - started > settleTimeoutMs;
      if (done || signal?.aborted === true || stuck) return evidence;
      if (performance.now() - lastSweep > sweepEveryMs) {
        lastSweep = performance.now();
        // A killed host does not answer.
        await scenario.meanwhile?.(world).catch(() => {});
        await meanwhile(lastSweep - started, invoices);
      }
      await delay(pollMs);
    }
  }

  async function findProblems(evidence: Evidence): Promise<string[]> {
    const missing = work.length - evidence.invoices.length;
    const others = evidence.invoices.filter(({ status }) => !ends.includes(status));
    return [
      ...(missing > 0 ? [`${missing} invoices are not in the store`] : []),
      ...others.map((invoice) => `${invoice.id} is ${invoice.status}`),
      ...unfinished(evidence, Date.now()),
      ...violations(evidence),
      ...(await otherProblems(worldOf(evidence.invoices))),
    ];
  }

  async function otherProblems(world: TrialWorld): Promise<string[]> {
    return (await scenario.problems?.(world)) ?? [];
  }

  function worldOf(invoices: InvoiceFigure[], host?: TappedHost): TrialWorld {
    return {
      cloud,
      invoices,
      call(method, path, body, headers = {}) {
        if (host === undefined) throw new Error('there is no host any more');
        return fetch(`${host.process.address}/api/${path}`, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
      },
      async run(name) {
        if (host !== undefined) await runFunction(host, name);
      },
    };
  }
}

interface InvoiceRow {
  id: string;
  customerId: string;
  amountMinor: number;
  currency: string;
  dueAt: string;
  paymentMethod: string;
}

function invoicesOf({ invoices, paymentMethod = 'pm_card_visa' }: Scenario, id: string): InvoiceRow[] {
  const methods = [paymentMethod].flat();
  return Array.from({ length: invoices }, (_, index) => ({
    id: `${id}-${index + 1}`,
    customerId: 'cus_Trial',
    amountMinor: 1_000 + index,
    currency: 'USD',
    dueAt: '2025-01-01T00:00:00Z',
    paymentMethod: methods[index % methods.length] ?? 'pm_card_visa',
  }));
}

/** Importing the same rows again changes nothing, so a client whose call failed simply repeats it. */
async function importInvoices({ process }: TappedHost, rows: readonly InvoiceRow[]): Promise<void> {
  const response = await fetch(`${process.address}/api/ops/invoices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rows),
  });
  if (!response.ok) throw new Error(`import: ${response.status} ${await response.text()}`);
}

async function runFunction({ process }: TappedHost, name: string): Promise<void> {
  const response = await fetch(`${process.address}/admin/functions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: '' }),
  });
  if (response.status !== 202) throw new Error(`${name}: ${response.status} ${await response.text()}`);
}

async function refuseSends({ serviceBusLocal }: LocalCloud): Promise<void> {
  await fetch(`${serviceBusLocal}/_local/faults`, {
    method: 'POST',
    body: JSON.stringify({ kind: 'refuse', operation: 'send', count: refusedSends }),
  });
}

/** Faults not consumed before the crash must not hit the rescue. */
async function clearFaults({ serviceBusLocal }: LocalCloud): Promise<void> {
  await fetch(`${serviceBusLocal}/_local/faults`, { method: 'DELETE' });
}

/**
 * Every trial begins like a new deployment, without locks, fences, schedules, figures, work items or the deployment document;
 * otherwise their creation could be cut only once. The trial's own data is untouched.
 */
async function forgetDeployment({ blobs, queues, cosmosClient }: LocalCloud): Promise<void> {
  // Hosts of the trial before were killed once all of it was done, and one may just have received the work item of an event.
  await queues.getQueueClient(queueNames.workItems).clearMessages();
  const locks = blobs.getContainerClient(blobContainers.locks);
  for await (const { name, properties } of locks.listBlobsFlat()) {
    const blob = locks.getBlobClient(name);
    if (properties.leaseState === 'leased') await blob.getBlobLeaseClient().breakLease(0);
    await blob.delete();
  }
  const invoices = cosmosClient.database(databaseName).container(containers.invoices.name);
  const { resources } = await invoices.items
    .query<{ id: string; shard: string }>(
      `SELECT c.id, c.shard FROM c WHERE c.type IN ('fence', 'deployment', 'providerAccount', 'figures')`,
    )
    .fetchAll();
  for (const { id, shard } of resources) await invoices.item(id, shard).delete();
  const pace = cosmosClient.database(databaseName).container(containers.pace.name);
  const { resources: schedules } = await pace.items
    .query<{ id: string; limit: string }>('SELECT c.id, c["limit"] FROM c')
    .fetchAll();
  for (const { id, limit } of schedules) await pace.item(id, limit).delete();
}
