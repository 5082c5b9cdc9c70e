import { setTimeout as delay } from 'node:timers/promises';
import type { InvoiceFigure } from '../../local/start/figures.ts';
import { type Evidence, gatherEvidence, openWork, unfinished, violations } from '../support/audit.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { type SeededRandom, seededRandom } from '../support/seededRandom.ts';
import { type BulkOrders, bulkProblems, bulkRunsOpen, orderBulk } from './bulk.ts';
import { type Fleet, type Stop, startFleet } from './fleet.ts';
import { startLockServer } from './lockServer.ts';
import { pausesAfter, pausesLine, tooLong } from './pauses.ts';
import { figuresOf } from './report.ts';
import type { Mishap } from './schedule.ts';
import { type BulkSize, seedBulk } from './seedBulk.ts';
import { delaysOf, leasesLeft, readRuns, runManually, stopFigures, tooLate, wrongRecords } from './stops.ts';

/** Mishaps that befall hosts, and the work that these have to do meanwhile. */
export interface FleetCampaign {
  seed: number;
  hosts: number;
  env: Readonly<Record<string, string>>;
  mishaps: readonly Mishap[];
  /** Time that the mishaps and the import take (ms), and until everything must then be at rest. */
  durationMs: number;
  drainMs: number;
  /** Invoices, imported evenly over that time, with one of these payment methods. */
  invoices: number;
  paymentMethods: readonly string[];
  /** One manual run after the other, beside the timer's. */
  manualRuns?: boolean;
  /** Things that an outage has left, and that three bulk runs retry and redrive. */
  bulk?: BulkSize;
  /** Server of the locks. Absent: blobs. */
  locks?: string;
  /** Time until the provider's search finds a payment (ms). Absent: a minute. */
  searchLagMs?: number;
}

export interface FleetReport {
  /** Of the imported invoices, or of those that were stored beforehand. */
  evidence: Evidence;
  stops: readonly Stop[];
  figures: string[];
  /** Faults that were found, in words. */
  problems: string[];
  /** The output of every process, by instance. */
  logs: ReadonlyMap<string, readonly string[]>;
}

const importEveryMs = 1_000;

/** Injures hosts while they work. Once that is over, everything must come to rest and add up. */
export async function fleetCampaign(
  options: FleetCampaign,
  say: (line: string) => void = () => {},
): Promise<FleetReport> {
  const { seed, env, mishaps, durationMs, drainMs, manualRuns = false, bulk, searchLagMs } = options;
  const random = seededRandom(seed);
  const [faulty, killed] = [
    mishaps.some(({ kind }) => !['kill', 'terminate'].includes(kind)),
    mishaps.some(({ kind }) => kind === 'kill'),
  ];
  await using locks = await startLockServer(options.locks);
  await using cloud = await startLocalCloud(searchLagMs === undefined ? {} : { searchLagMs });
  if (bulk !== undefined) await seedBulk(cloud, bulk);
  const settings = { ...env, ...locks?.env };
  await using fleet = await startFleet(cloud, { hosts: options.hosts, env: settings, random, faulty });
  const faultsOf = {
    cosmos: `${(/AccountEndpoint=([^;]+)\//.exec(cloud.cosmos) ?? [])[1]}/_local/faults`,
    serviceBus: `${cloud.serviceBusLocal}/_local/faults`,
    payments: `${cloud.payments}/_local/faults`,
  };
  const started = performance.now();
  const at = (ms: number) => delay(Math.max(0, started + ms - performance.now()));

  const problems: string[] = [];
  const stops: Stop[] = [];
  let leases = 0;
  /** Times when the server of the locks was back without its data (epoch ms). */
  const lockServerBack: number[] = [];
  const stopping: Promise<void>[] = [];
  let isCalm = false;
  let isOver = false;
  let orders: BulkOrders | undefined;
  const [rest] = await Promise.all([
    inflict().then(comeToRest),
    importAll(),
    showProgress(),
    manualRuns && runManually(cloud, fleet, () => isCalm).then((stood) => problems.push(...stood)),
    bulk && orderBulk(fleet).then((given) => (orders = given)),
  ]);
  const { evidence, drained, open } = rest;
  const pauses = pausesAfter(lockServerBack, evidence.charges);
  const runs = await readRuns(cloud);
  const delays = delaysOf(evidence);
  problems.push(...open, ...violations(evidence), ...tooLong(pauses));
  if (manualRuns) problems.push(...wrongRecords(runs, evidence, { killed }), ...tooLate(delays));
  if (bulk !== undefined && orders !== undefined)
    problems.push(...(await bulkProblems(cloud, fleet, bulk, orders)));
  return {
    evidence,
    stops,
    problems,
    figures: [
      ...figuresOf({ evidence, mishaps, drained }),
      ...(manualRuns ? stopFigures(stops, leases, runs, delays) : []),
      ...(locks === undefined ? [] : [pausesLine(pauses)]),
    ],
    logs: fleet.logs(),
  };

  async function inflict(): Promise<void> {
    for (const mishap of mishaps) {
      await at(mishap.at);
      await befall(mishap);
    }
    await at(durationMs);
    await Promise.all(stopping);
  }

  async function befall(mishap: Mishap): Promise<void> {
    switch (mishap.kind) {
      case 'kill':
        return fleet.kill(mishap.host, mishap.awayMs);
      case 'terminate':
        // The other mishaps go on meanwhile.
        stopping.push(fleet.terminate(mishap.host, mishap.awayMs).then(judgeStop));
        return;
      case 'pause':
        return fleet.pause(mishap.host, mishap.pauseMs);
      case 'locks gone':
        void locks?.loseData(mishap.awayMs).then((backAt) => lockServerBack.push(backAt));
        return;
      case 'fault': {
        const body = JSON.stringify(mishap.fault);
        const response = await fetch(faultsOf[mishap.service], { method: 'POST', body });
        if (!response.ok) throw new Error(`${mishap.service} ${body}: ${await response.text()}`);
      }
    }
  }

  async function judgeStop(stop: Stop | undefined): Promise<void> {
    if (stop === undefined) return;
    stops.push(stop);
    if (stop.code !== 0 && !faulty) problems.push(`${stop.instance} ended with ${stop.code}`);
    if (locks !== undefined) return;
    const [left, held] = await leasesLeft(cloud, stop);
    leases += left.length;
    problems.push(...held.map((key) => `${stop.instance} has ended, and still holds ${key}`));
  }

  /** Repeats each import until it is answered, as a client whose call failed would. */
  async function importAll(): Promise<void> {
    const { invoices, paymentMethods } = options;
    const rows = seededRandom(seed);
    const chunks = Math.min(invoices, Math.ceil(durationMs / importEveryMs));
    for (let chunk = 0; chunk < chunks; chunk++) {
      const from = Math.floor((chunk * invoices) / chunks);
      const to = Math.floor(((chunk + 1) * invoices) / chunks);
      const body = JSON.stringify(
        Array.from({ length: to - from }, (_, n) => newRow(from + n, rows, paymentMethods)),
      );
      await at((chunk * durationMs * 0.98) / chunks);
      while (!isOver && !(await imported(fleet, body))) await delay(300);
    }
  }

  async function showProgress(): Promise<void> {
    const every = Math.max(10_000, durationMs / 20);
    for (let ms = every; ms < durationMs; ms += every) {
      await at(ms);
      // The faults hit every caller, including this one.
      const now = await gatherEvidence(cloud).catch(() => undefined);
      if (now === undefined) continue;
      const count = (status: string) => now.invoices.filter((invoice) => invoice.status === status).length;
      const parts = ['pending', 'claimed', 'paid', 'declined', 'parked'].map(
        (each) => `${each} ${count(each)}`,
      );
      say(`${Math.round(ms / 1000)} s: ${parts.join(', ')}, undispatched ${now.outbox.pending}`);
    }
  }

  /**
   * Ends the mishaps: paused hosts resume and all faults are cleared. The clock of the drain runs from then on, even
   * while hosts are still stopping or starting.
   */
  async function comeToRest(): Promise<Drained> {
    const calmAt = performance.now();
    say('no more mishaps');
    isCalm = true;
    let allUp = false;
    const recovered = fleet.recover().then(() => {
      allUp = true;
    });
    await Promise.all(Object.values(faultsOf).map((url) => fetch(url, { method: 'DELETE' })));
    const [result] = await Promise.all([drain(calmAt, () => allUp), recovered]);
    isOver = true;
    return result;
  }

  async function drain(calmAt: number, allUp: () => boolean): Promise<Drained> {
    const drained = new Map<string, number | undefined>();
    const expected = options.invoices + (bulk?.invoices ?? 0);
    for (;;) {
      const hostsUp = allUp();
      const evidence = await gatherEvidence(cloud, prefixOf(bulk));
      const runs = await openRuns(cloud);
      const took = performance.now() - calmAt;
      const work = { hosts: hostsUp ? 0 : 1, runs, ...openWork(evidence, Date.now()) };
      for (const [kind, left] of Object.entries(work))
        drained.set(kind, left > 0 ? undefined : (drained.get(kind) ?? took));
      const open = [
        ...(hostsUp ? [] : ['not every host is up again']),
        ...(runs === 0 ? [] : [`${runs} runs are open`]),
        ...stillOpen(evidence, expected),
      ];
      if (open.length === 0 || took > drainMs) return { evidence, drained, open };
      await delay(1_000);
    }
  }

  /** Both of the timer and manual ones, where records are judged. */
  async function openRuns(from: LocalCloud): Promise<number> {
    if (manualRuns) return (await readRuns(from)).filter(({ status }) => status === 'running').length;
    return bulk === undefined ? 0 : bulkRunsOpen(fleet, orders);
  }
}

interface Drained {
  evidence: Evidence;
  /** Time from the last mishap until each kind of work was finished for good (ms); undefined if it was not. */
  drained: Map<string, number | undefined>;
  /** Unfinished work, in words. */
  open: string[];
}

function prefixOf(bulk: BulkSize | undefined): string {
  return bulk === undefined ? 'fleet-' : 'bulk-';
}

function newRow(n: number, random: SeededRandom, paymentMethods: readonly string[]) {
  return {
    id: `fleet-${n + 1}`,
    customerId: 'cus_Fleet',
    amountMinor: random.between(100, 100_000),
    currency: 'USD',
    dueAt: '2025-01-01T00:00:00Z',
    paymentMethod: random.pick(paymentMethods),
  };
}

/** @throws if a row is refused */
async function imported(fleet: Fleet, body: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  const response = await fleet.call('invoices', { method: 'POST', headers, body });
  // A host that is killed may cut its answer short.
  const answer = (await response?.json().catch(() => undefined)) as { rejected: unknown[] } | undefined;
  if (answer === undefined) return false;
  if (answer.rejected.length > 0) throw new RangeError(`rejected: ${JSON.stringify(answer.rejected[0])}`);
  return true;
}

function stillOpen(evidence: Evidence, expected: number): string[] {
  const missing = expected - evidence.invoices.length;
  const waiting = evidence.invoices.filter(({ status }) => status === 'pending' || status === 'claimed');
  const stuck = waiting.filter((invoice) => !waitsForCustomer(invoice));
  return [
    ...(missing === 0 ? [] : [`${missing} invoices are not in the store`]),
    ...stuck.map(({ id, status, timeline }) => `${id} is still ${status}: ${timeline.at(-1)?.what}`),
    ...unfinished(evidence, Date.now()),
  ];
}

/** A soft decline is retried days later, so there is nothing to do until then. */
function waitsForCustomer({ status, timeline }: InvoiceFigure): boolean {
  return status === 'pending' && timeline.at(-1)?.what === 'retry: declined';
}
