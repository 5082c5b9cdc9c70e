import { setTimeout as delay } from 'node:timers/promises';
import { isOpen } from '../../packages/jobs/src/runs/runProgress.ts';
import type { RunRecord } from '../../packages/jobs/src/runs/runRecord.ts';
import { asShown } from '../../packages/jobs/src/runs/runView.ts';
import { blobLockStore } from '../../packages/leases/src/blobLockStore.ts';
import { listLocks } from '../../packages/leases/src/lockOperations.ts';
import { messageLockMs } from '../../src/paying/messageLock.ts';
import { blobContainers } from '../../src/platform/azureNames.ts';
import { containers, databaseName } from '../../src/platform/cosmosContainers.ts';
import type { Evidence } from '../support/audit.ts';
import type { LocalCloud } from '../support/localCloud.ts';
import type { Fleet, Stop } from './fleet.ts';

export const leaseSeconds = 15;
/** From SIGTERM until the worker has ended at the latest (ms). */
const stopMs = 15_000;
/** Time that a busy machine may add to a delay (ms). */
const slackMs = 20_000;
/** Maximum delay of a batch that a stopping host had (ms): until its lock ends, and then until it is paid. */
export const longestDelayMs = stopMs + messageLockMs + slackMs;
/** Time that a manual run may stand still because its host has ended (ms). */
const longestStandstillMs = 90_000 + stopMs;

/** Leases of a stopped host when it had ended, and those that it still held once they should have run out. */
export async function leasesLeft(cloud: LocalCloud, { instance }: Stop): Promise<[string[], string[]]> {
  const left = await heldBy(cloud, instance);
  if (left.length === 0) return [left, []];
  await delay(leaseSeconds * 1_000 + 1_000);
  return [left, await heldBy(cloud, instance)];
}

/** Locks that are held, and whose last holder is this instance. */
async function heldBy(cloud: LocalCloud, instance: string): Promise<string[]> {
  await using store = blobLockStore(cloud.blobs.getContainerClient(blobContainers.locks));
  const locks = (await listLocks(store)) ?? [];
  return locks.flatMap(({ key, held, owner }) => (held && owner?.instance === instance ? [key] : []));
}

/** One manual run after the other, so that at any moment one is in flight. Returns those that stood still, in words. */
export async function runManually(cloud: LocalCloud, fleet: Fleet, isOver: () => boolean): Promise<string[]> {
  for (let n = 0; !isOver(); n++) {
    await delay(500);
    const response = await fleet.call('runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `manual-${n}` },
      body: JSON.stringify({ job: 'process-invoices' }),
    });
    if (response === undefined) continue;
    const { runId } = (await response.json()) as { runId: string };
    for (let status = 'running'; status === 'running' && !isOver();) {
      await delay(500);
      const { resource } = await runsOf(cloud).item(runId, 'process-invoices').read<RunRecord>();
      status = resource?.status ?? status;
      const silence = Date.now() - Date.parse(resource?.heartbeatAt ?? new Date().toISOString());
      if (status === 'running' && silence > longestStandstillMs)
        return [`manual run ${runId} has stood still for ${silence} ms`];
    }
  }
  return [];
}

export async function readRuns(cloud: LocalCloud): Promise<RunRecord[]> {
  const { resources } = await runsOf(cloud).items.readAll<RunRecord>().fetchAll();
  return resources.map((run) => asShown(run, Date.now()));
}

function runsOf(cloud: LocalCloud) {
  return cloud.cosmosClient.database(databaseName).container(containers.runs.name);
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

/** Times from import to payment (ms), ascending. Pure. */
export function delaysOf({ invoices }: Pick<Evidence, 'invoices'>): number[] {
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

/** The figures of stops, one per line. Pure. */
export function stopFigures(
  stops: readonly Stop[],
  leases: number,
  runs: readonly RunRecord[],
  delays: readonly number[],
): string[] {
  const seconds = (ms = 0) => `${(ms / 1_000).toFixed(1)} s`;
  const quantile = (share: number) => seconds(delays[Math.floor(share * (delays.length - 1))]);
  const manual = runs.filter(({ trigger }) => trigger === 'manual');
  return [
    `Stopped     ${stops.length} hosts, each within ${seconds(Math.max(0, ...stops.map(({ tookMs }) => tookMs)))}; ${leases} leases left to run out`,
    `Runs        ${runs.length}, of which ${manual.length} manual`,
    `Waited      half ${quantile(0.5)}, 95 % ${quantile(0.95)}, all ${quantile(1)} (explained: ${seconds(longestDelayMs)})`,
  ];
}
