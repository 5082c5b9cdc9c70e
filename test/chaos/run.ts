/**
 * The chaos run: `npm run check -- chaos`. Hosts pay invoices while they are killed, paused and told to stop, and while the
 * services they use fail in every way. When that stops, everything must come to rest and add up.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { InvoiceFigure } from '../../local/start/figures.ts';
import { type Evidence, gatherEvidence, openWork, unfinished, violations } from '../support/audit.ts';
import { exitOnSignals } from '../support/endWithProcess.ts';
import { startLocalCloud } from '../support/localCloud.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { startLockServer } from './lockServer.ts';
import { pausesAfter, pausesLine, tooLong } from './pauses.ts';
import { figuresOf } from './report.ts';
import { chaosSchedule, type Mishap } from './schedule.ts';

const usage = `npm run check -- chaos [options]
  --minutes M    how long faults are injected (default 1)
  --seed S       whole number; the same seed gives the same mishaps at the same times (default: from the clock)
  --hosts N      default 5
  --drain S      seconds that everything may then take to come to rest (default 120)
  --locks KIND   redis, postgres or etcd: the locks are there, on a server that loses its data (default: blobs)
  --invoices N   total, imported evenly over that time (default 500 a minute)`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    hosts: { type: 'string', default: '5' },
    drain: { type: 'string', default: '120' },
    invoices: { type: 'string' },
    locks: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const hosts = Number(values.hosts);
/** Milliseconds from the last mishap until every host must be up with nothing left to do. */
const drainMs = 1_000 * Number(values.drain);
const invoices = Number(values.invoices ?? Math.round(500 * minutes));
if (values.help || !(minutes > 0) || !(drainMs > 0) || ![seed, hosts, invoices].every(Number.isInteger)) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}

/** Milliseconds; the worst lag that Stripe documents (https://docs.stripe.com/search#data-freshness). */
const searchLagMs = 60_000;
const importEveryMs = 2_000;
const logFolder = '.local/chaos';
const env = {
  INVOICE_SCHEDULE: '*/2 * * * * *',
  OUTBOX_SCHEDULE: '*/3 * * * * *',
  LEASE_SECONDS: '15',
  CLAIM_STALE_SECONDS: '20',
  PAYMENT_TIMEOUT_SECONDS: '4',
};

/** Most can be paid. The rest get a soft or a hard decline, or their first call fails. */
const paymentMethods = [
  ...Array.from({ length: 40 }, () => 'pm_card_visa'),
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_chargeDeclinedExpiredCard',
  'pm_local_timeoutBeforeChargeOnce',
  'pm_local_timeoutAfterChargeOnce',
  'pm_local_resetAfterChargeOnce',
  'pm_local_serverErrorAfterChargeOnce',
  'pm_local_rateLimitOnce',
];

exitOnSignals();
process.exitCode = (await run()) ? 0 : 1;

async function run(): Promise<boolean> {
  const durationMs = minutes * 60_000;
  await using locks = await startLockServer(values.locks);
  const mishaps = chaosSchedule({ seed, durationMs, hosts, lockServer: locks !== undefined });
  console.log(
    `seed ${seed}: ${mishaps.length} mishaps in ${minutes} min, ${hosts} hosts, ${invoices} invoices`,
  );
  await using cloud = await startLocalCloud({ searchLagMs });
  await using fleet = await startFleet(cloud, {
    hosts,
    env: { ...env, ...locks?.env },
    random: seededRandom(seed),
  });
  const started = performance.now();
  const faultsOf = {
    cosmos: `${(/AccountEndpoint=([^;]+)\//.exec(cloud.cosmos) ?? [])[1]}/_local/faults`,
    serviceBus: `${cloud.serviceBusLocal}/_local/faults`,
    payments: `${cloud.payments}/_local/faults`,
  };

  /** When the server of the locks was back without its data, in milliseconds since the epoch. */
  const lockServerBack: number[] = [];
  let over = false;
  const [{ evidence, drained, open }] = await Promise.all([
    inflict().then(comeToRest),
    importAll(),
    showProgress(),
  ]);
  const pauses = pausesAfter(lockServerBack, evidence.charges);
  const problems = [...open, ...violations(evidence), ...tooLong(pauses)];
  console.log(figuresOf({ evidence, mishaps, drained }).join('\n'));
  if (locks !== undefined) console.log(pausesLine(pauses));
  if (problems.length === 0) {
    console.log('Everything adds up.');
    return true;
  }
  keepLogs(fleet, evidence);
  console.log(`It does not add up (logs and timelines: ${logFolder}, seed ${seed}):`);
  for (const problem of problems) console.log(`  ${problem}`);
  return false;

  async function inflict(): Promise<void> {
    for (const mishap of mishaps) {
      await delay(Math.max(0, mishap.at - (performance.now() - started)));
      await befall(mishap);
    }
    await delay(Math.max(0, durationMs - (performance.now() - started)));
  }

  async function befall(mishap: Mishap): Promise<void> {
    switch (mishap.kind) {
      case 'kill':
        return fleet.kill(mishap.host, mishap.awayMs);
      case 'terminate':
        return fleet.terminate(mishap.host, mishap.awayMs);
      case 'pause':
        return fleet.pause(mishap.host, mishap.pauseMs);
      case 'locks gone':
        // The other mishaps go on meanwhile.
        void locks?.loseData(mishap.awayMs).then((backAt) => lockServerBack.push(backAt));
        return;
      case 'fault': {
        const body = JSON.stringify(mishap.fault);
        const response = await fetch(faultsOf[mishap.service], { method: 'POST', body });
        if (!response.ok) throw new Error(`${mishap.service} ${body}: ${await response.text()}`);
      }
    }
  }

  /** Repeats each import until it is answered, as a client whose call failed would. */
  async function importAll(): Promise<void> {
    const random = seededRandom(seed);
    const chunks = Math.min(invoices, Math.ceil(durationMs / importEveryMs));
    for (let chunk = 0; chunk < chunks; chunk++) {
      const from = Math.floor((chunk * invoices) / chunks);
      const to = Math.floor(((chunk + 1) * invoices) / chunks);
      const rows = Array.from({ length: to - from }, (_, index) => ({
        id: `chaos-${seed}-${from + index + 1}`,
        customerId: 'cus_Chaos',
        amountMinor: random.between(100, 100_000),
        currency: 'USD',
        dueAt: '2025-01-01T00:00:00Z',
        paymentMethod: random.pick(paymentMethods),
      }));
      await delay(Math.max(0, (chunk * durationMs * 0.98) / chunks - (performance.now() - started)));
      while (!over && !(await imported(rows))) await delay(300);
    }
  }

  async function imported(rows: unknown): Promise<boolean> {
    try {
      const response = await fetch(`${fleet.anyAddress()}/api/ops/invoices`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(rows),
        signal: AbortSignal.timeout(10_000),
      });
      if (!response.ok) return false;
      const { rejected } = (await response.json()) as { rejected: unknown[] };
      if (rejected.length > 0) throw new RangeError(`rejected: ${JSON.stringify(rejected[0])}`);
      return true;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      return false;
    }
  }

  async function showProgress(): Promise<void> {
    const every = Math.max(10_000, durationMs / 20);
    for (let at = every; at < durationMs; at += every) {
      await delay(Math.max(0, at - (performance.now() - started)));
      // The faults hit every caller, including this one.
      const evidence = await gatherEvidence(cloud).catch(() => undefined);
      if (evidence === undefined) continue;
      const { invoices: now, outbox } = evidence;
      const count = (status: string) => now.filter((invoice) => invoice.status === status).length;
      const parts = ['pending', 'claimed', 'paid', 'declined', 'parked'].map(
        (each) => `${each} ${count(each)}`,
      );
      console.log(`${Math.round(at / 1000)} s: ${parts.join(', ')}, undispatched ${outbox.pending}`);
    }
  }

  /**
   * Ends the mishaps: paused hosts resume and all faults are cleared. The clock of the drain runs from then on, even
   * while hosts are still stopping or starting.
   */
  async function comeToRest(): Promise<Drained> {
    const calmAt = performance.now();
    console.log('no more mishaps');
    let allUp = false;
    const recovered = fleet.recover().then(() => {
      allUp = true;
    });
    await Promise.all(Object.values(faultsOf).map((url) => fetch(url, { method: 'DELETE' })));
    const [result] = await Promise.all([drain(calmAt, () => allUp), recovered]);
    over = true;
    return result;
  }

  async function drain(calmAt: number, allUp: () => boolean): Promise<Drained> {
    const drained = new Map<string, number | undefined>();
    for (;;) {
      const hostsUp = allUp();
      const evidence = await gatherEvidence(cloud);
      const took = performance.now() - calmAt;
      const work = { hosts: hostsUp ? 0 : 1, ...openWork(evidence, Date.now()) };
      for (const [kind, left] of Object.entries(work))
        drained.set(kind, left > 0 ? undefined : (drained.get(kind) ?? took));
      const open = [...(hostsUp ? [] : ['not every host is up again']), ...stillOpen(evidence)];
      if (open.length === 0 || took > drainMs) return { evidence, drained, open };
      await delay(1_000);
    }
  }
}

interface Drained {
  evidence: Evidence;
  /** Milliseconds from the last mishap until each kind of work was finished for good; undefined if it was not. */
  drained: Map<string, number | undefined>;
  /** Unfinished work, in words. */
  open: string[];
}

function stillOpen(evidence: Evidence): string[] {
  const missing = invoices - evidence.invoices.length;
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

function keepLogs(fleet: Fleet, { invoices: all }: Evidence): void {
  mkdirSync(logFolder, { recursive: true });
  for (const [instance, lines] of fleet.logs())
    writeFileSync(`${logFolder}/${instance}.log`, lines.join('\n'));
  writeFileSync(`${logFolder}/invoices.json`, JSON.stringify(all, null, 1));
}
