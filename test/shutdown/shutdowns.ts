import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isOpen, type RunRecord } from '../../packages/jobs/src/runs/runRecord.ts';
import { asShown } from '../../packages/jobs/src/runs/runView.ts';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { listLocks } from '../../packages/leases/src/lockOperations.ts';
import { messageLockMs } from '../../src/paying/messageLock.ts';
import { blobContainers } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import { type Evidence, gatherEvidence, openWork, violations } from '../support/audit.ts';
import { endWithProcess } from '../support/endWithProcess.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { type LocalCloud, settingsFor } from '../support/localCloud.ts';
import type { SeededRandom } from '../support/seededRandom.ts';

const app = fileURLToPath(new URL('../../', import.meta.url));
const leaseSeconds = 15;
const importEveryMs = 1_000;

/** From SIGTERM until the worker has ended at the latest, in milliseconds. */
const stopMs = 15_000;
/** Time that a busy machine may add to a delay (ms). */
const slackMs = 20_000;
/** Maximum delay of a batch that a stopping host had (ms): until its lock ends, and then until it is paid. */
export const longestDelayMs = stopMs + messageLockMs + slackMs;
/** Time that a manual run may stand still because its host has ended (ms). */
const longestStandstillMs = 90_000 + stopMs;

/**
 * Time that a queue message stays hidden once its host is killed (ms): the host renews this while the
 * function runs (`visibilityTimeout` of Microsoft.Azure.WebJobs.Host.Queues.Listeners.QueueListener).
 */
const hiddenMs = 600_000;

export interface ShutdownOptions {
  invoices: number;
  /** Duration of their import (ms). */
  durationMs: number;
  hosts: number;
  /** Number of hosts that are stopped, at random moments of that time. Each is replaced at once. */
  terminations: number;
  /** Number of those that are killed (SIGKILL); the others get SIGTERM. Default: none. */
  kills?: number;
  random: SeededRandom;
  say?: (line: string) => void;
}

export interface ShutdownReport {
  evidence: Evidence;
  /** Faults that were found, in words. */
  problems: string[];
  /** From import to payment, in milliseconds, ascending. */
  delays: number[];
  /** Leases of terminated hosts when they had ended: still held, and all that they had ever taken last. */
  leases: { left: number; of: number };
  /** Milliseconds from SIGTERM until each process had ended. */
  stops: number[];
  runs: RunRecord[];
}

/**
 * Imports invoices steadily while hosts pay them, by the timer and by one manual run after another, and while hosts are
 * stopped as Azure stops them. Resolves when everything has come to rest.
 */
export async function payThroughShutdowns(
  cloud: LocalCloud,
  options: ShutdownOptions,
): Promise<ShutdownReport> {
  const { invoices, durationMs, hosts: size, terminations, kills = 0, random, say = () => {} } = options;
  await using hosts = await startHosts(cloud, size);
  const moments = Array.from({ length: terminations }, () => random.between(0, durationMs)).toSorted(
    (a, b) => a - b,
  );
  const problems: string[] = [];
  const stops: number[] = [];
  const leases = { left: 0, of: 0 };
  const started = performance.now();
  const at = (ms: number) => delay(Math.max(0, started + ms - performance.now()));
  let over = false;

  // Spread over all of them.
  const isKill = (index: number) =>
    Math.floor(((index + 1) * kills) / terminations) > Math.floor((index * kills) / terminations);
  const stopping = moments.map(async (moment, index) => {
    await at(moment);
    if (isKill(index)) {
      say(`${await hosts.kill(random)} was killed`);
      return;
    }
    const { instance, tookMs } = await hosts.terminate(random);
    stops.push(tookMs);
    const held = await heldBy(cloud, instance);
    leases.left += held.length;
    leases.of++;
    say(`${instance} ended ${(tookMs / 1000).toFixed(1)} s after SIGTERM; leases left: ${held.length}`);
    if (held.length === 0) return;
    await delay(leaseSeconds * 1_000 + 1_000);
    for (const key of await heldBy(cloud, instance))
      problems.push(`${instance} has ended, and still holds ${key}`);
  });
  const manualRuns = runManually();
  await importAll();
  await Promise.all(stopping);
  over = true;
  // The last of them may only just be starting.
  await manualRuns;
  const { evidence, runs } = await untilAtRest();
  const delays = delaysOf(evidence);
  problems.push(
    ...violations(evidence),
    ...wrongRecords(runs, evidence, { killed: kills > 0 }),
    ...tooLate(delays),
  );
  return { evidence, problems, delays, leases, stops, runs };

  async function importAll(): Promise<void> {
    const chunks = Math.ceil(durationMs / importEveryMs);
    for (let chunk = 0; chunk < chunks; chunk++) {
      await at(chunk * importEveryMs);
      const from = Math.floor((chunk * invoices) / chunks);
      const to = Math.floor(((chunk + 1) * invoices) / chunks);
      const rows = Array.from({ length: to - from }, (_, index) => ({
        id: `stop-${from + index}`,
        customerId: 'cus_Stop',
        amountMinor: random.between(100, 100_000),
        currency: 'USD',
        dueAt: '2025-01-01T00:00:00Z',
        paymentMethod: 'pm_card_visa',
      }));
      while (!(await hosts.post('invoices', rows))) await delay(200);
    }
  }

  /** One manual run after the other: at any moment one is in flight. */
  async function runManually(): Promise<void> {
    for (let n = 0; !over; n++) {
      await delay(500);
      const runId = await hosts.startRun(`manual-${n}`);
      for (let status = 'running'; runId !== undefined && status === 'running' && !over;) {
        await delay(500);
        const record = await readRun(cloud, runId);
        status = record?.status ?? status;
        const silence = Date.now() - Date.parse(record?.heartbeatAt ?? new Date().toISOString());
        if (status === 'running' && silence > longestStandstillMs) {
          problems.push(`manual run ${runId} has stood still for ${silence} ms`);
          return;
        }
      }
    }
  }

  /** Both of one moment: the timer goes on starting runs. */
  async function untilAtRest(): Promise<{ evidence: Evidence; runs: RunRecord[] }> {
    const deadline = performance.now() + longestDelayMs + 60_000 + (kills > 0 ? hiddenMs : 0);
    for (;;) {
      const evidence = await gatherEvidence(cloud, 'stop-');
      const open = Object.entries(openWork(evidence, Date.now())).filter(([, count]) => count > 0);
      const runs = await readRuns(cloud);
      const running = runs.filter(({ status }) => status === 'running').length;
      if (open.length === 0 && running === 0) return { evidence, runs };
      if (performance.now() > deadline) {
        problems.push(
          `not at rest: ${JSON.stringify(Object.fromEntries(open))}, ${running} runs are running`,
        );
        return { evidence, runs };
      }
      await delay(1_000);
    }
  }
}

interface Hosts extends AsyncDisposable {
  /** SIGTERM to one of them, and another in its place; resolves when it has ended. */
  terminate(random: SeededRandom): Promise<{ instance: string; tookMs: number }>;
  /** SIGKILL to one of them, and another in its place; resolves with its name. */
  kill(random: SeededRandom): Promise<string>;
  post(path: string, body: unknown): Promise<boolean>;
  /** The id of the run; undefined if no host could be reached. */
  startRun(key: string): Promise<string | undefined>;
}

async function startHosts(cloud: LocalCloud, size: number): Promise<Hosts> {
  const everything: HostProcess[] = [];
  const up: { instance: string; host: HostProcess }[] = [];
  let starts = 0;
  const start = async () => {
    const instance = `host-${++starts}`;
    const host = await startHostProcess({
      app,
      args: ['--no-timer-singleton'],
      env: {
        ...settingsFor(cloud),
        INSTANCE_ID: instance,
        INVOICE_SCHEDULE: '*/3 * * * * *',
        OUTBOX_SCHEDULE: '*/5 * * * * *',
        LEASE_SECONDS: `${leaseSeconds}`,
      },
    });
    everything.push(host);
    up.push({ instance, host });
  };
  const end = endWithProcess(() => {
    for (const host of everything) host.kill('SIGKILL');
  });
  await Promise.all(Array.from({ length: size }, start));

  async function call(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response | undefined> {
    try {
      const response = await fetch(`${up.at(-1)?.host.address}/api/ops/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      return response.ok ? response : undefined;
    } catch {
      return undefined;
    }
  }

  async function oneOf(random: SeededRandom) {
    // All of them may just be on their way out.
    while (up.length === 0) await delay(200);
    const [leaving] = up.splice(random.between(0, Math.max(0, up.length - 1)), 1);
    if (leaving === undefined) throw new Error('no host is up');
    return leaving;
  }

  return {
    async kill(random) {
      const { host, instance } = await oneOf(random);
      host.kill('SIGKILL');
      await start();
      return instance;
    },
    async terminate(random) {
      const leaving = await oneOf(random);
      const signalled = performance.now();
      leaving.host.kill('SIGTERM');
      const [code] = await Promise.all([leaving.host.exited, start()]);
      if (code !== 0) throw new Error(`${leaving.instance} ended with ${code}`);
      return { instance: leaving.instance, tookMs: performance.now() - signalled };
    },
    post: async (path, body) => (await call(path, body)) !== undefined,
    async startRun(key) {
      const response = await call('runs', { job: 'process-invoices' }, { 'idempotency-key': key });
      return response === undefined ? undefined : ((await response.json()) as { runId: string }).runId;
    },
    async [Symbol.asyncDispose]() {
      end[Symbol.dispose]();
      await Promise.all(everything.map((host) => host[Symbol.asyncDispose]()));
    },
  };
}

/** Locks that are held, and whose last holder is this instance. */
async function heldBy(cloud: LocalCloud, instance: string): Promise<string[]> {
  await using store = blobLockStore(cloud.blobs.getContainerClient(blobContainers.locks));
  const locks = (await listLocks(store)) ?? [];
  return locks.flatMap(({ key, held, owner }) => (held && owner?.instance === instance ? [key] : []));
}

function runsOf(cloud: LocalCloud) {
  return cloud.cosmosClient.database(databaseName).container(containers.runs.name);
}

async function readRuns(cloud: LocalCloud): Promise<RunRecord[]> {
  const { resources } = await runsOf(cloud).items.readAll<RunRecord>().fetchAll();
  return resources.map((run) => asShown(run, Date.now()));
}

async function readRun(cloud: LocalCloud, runId: string): Promise<RunRecord | undefined> {
  return (await runsOf(cloud).item(runId, 'process-invoices').read<RunRecord>()).resource;
}

/**
 * Records that do not tell what has happened, in words. The record of a killed host lacks what it did after its last report.
 * Pure.
 */
export function wrongRecords(
  runs: readonly Pick<RunRecord, 'id' | 'status' | 'groups'>[],
  { invoices }: Pick<Evidence, 'invoices'>,
  { killed }: { killed: boolean },
): string[] {
  const open = runs.flatMap(({ id, status, groups }) => [
    ...(status === 'running' ? [`run ${id} is still running`] : []),
    ...Object.entries(groups).flatMap(([name, group]) =>
      status === 'completed' && isOpen(group)
        ? [`group ${name} of run ${id}, which is ${status}, is ${group.status}`]
        : [],
    ),
  ]);
  const groups = runs.flatMap((run) => Object.values(run.groups));
  const counted = groups.reduce((sum, { counts }) => sum + (counts.claimed ?? 0), 0);
  const claimed = invoices
    .flatMap(({ timeline }) => timeline)
    .filter(({ what }) => what === 'claimed').length;
  const isRight = killed ? counted <= claimed : counted === claimed;
  return isRight ? open : [...open, `the runs count ${counted} claims of ${claimed}`];
}

function delaysOf({ invoices }: Evidence): number[] {
  const delays = invoices.flatMap(({ timeline }) => {
    const time = (what: string) => Date.parse(timeline.find((entry) => entry.what === what)?.at ?? '');
    const ms = time('paid') - time('imported');
    return Number.isNaN(ms) ? [] : [ms];
  });
  return delays.toSorted((a, b) => a - b);
}

/** Payments that waited for longer than the lock of a message explains, in words. Pure. */
export function tooLate(delays: readonly number[]): string[] {
  const late = delays.filter((ms) => ms > longestDelayMs);
  return late.length === 0 ? [] : [`${late.length} invoices waited up to ${Math.max(...late)} ms`];
}
