/**
 * The crash-point sweep: `npm run test:crash`. It finds out what requests a payment makes by letting one pass, then kills
 * the host at each of them, before the request is forwarded and after it was applied.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../support/endWithProcess.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { conclude } from './conclusion.ts';
import { type CrashPoint, type Gate, positions } from './gate.ts';
import { keepTrial } from './keepTrial.ts';
import { crashTable, type PointResult } from './table.ts';
import { runTrial, type Scenario, type TrialResult } from './trial.ts';

const usage = `npm run test:crash -- [options]
  --scenario NAME   one of: ${'one-invoice, two-hosts, batch, sweeper'} (default: all of them)
  --lanes N         trials side by side, each in a cloud of its own (default 4)
  --only TEXT       only points whose name contains TEXT
  --occurrences N   at most N of the occurrences of each kind of request, spread evenly (default: all)
  --list            find the points and print them, but kill nothing`;

const scenarios: readonly Scenario[] = [
  { name: 'one-invoice', invoices: 1, hosts: 1 },
  { name: 'two-hosts', invoices: 1, hosts: 2, races: true },
  // How often the sweeper comes by until everything is done is a matter of time.
  { name: 'sweeper', invoices: 1, hosts: 1, sweeper: true, races: true },
  { name: 'batch', invoices: 20, hosts: 1 },
];
/** The way that the work takes differs a little from time to time: what is met in one of these runs is a point. */
const discoveryRuns = 2;
/** How often a point that was not reached is tried again. */
const retries = 2;
/** How often it says how far it has come, in milliseconds. */
const progressMs = 30_000;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    lanes: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    occurrences: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const unknown =
  values.scenario?.filter((name) => !scenarios.some((scenario) => scenario.name === name)) ?? [];
const wanted = scenarios.filter(({ name }) => values.scenario?.includes(name) ?? true);
const lanes = Number(values.lanes);
const occurrences = Number(values.occurrences ?? Number.POSITIVE_INFINITY);
if (unknown.length > 0 || !(occurrences >= 1) || !Number.isInteger(lanes) || lanes < 1) {
  console.error(usage);
  process.exit(2);
}

exitOnSignals();
const serviceBusConfig = fileURLToPath(new URL('./serviceBus.json', import.meta.url));
const clouds: LocalCloud[] = await Promise.all(
  Array.from({ length: lanes }, () => startLocalCloud({ serviceBusConfig })),
);
const results: (PointResult & { scenario: Scenario })[] = [];
let listed = 0;
try {
  for (const scenario of wanted) {
    const points = await findPoints(scenario);
    console.log(`\n${scenario.name}: ${points.length} crash points`);
    listed += points.length;
    if (values.list) console.log(points.map(nameOf).join('\n'));
    else for (const result of await sweep(scenario, points)) results.push({ ...result, scenario });
  }
} finally {
  await Promise.all(clouds.map((cloud) => cloud[Symbol.asyncDispose]()));
}
if (values.list) process.exit(listed > 0 ? 0 : 1);
const { text, passed } = conclude(results);
console.log(`\n${text}`);
process.exit(passed ? 0 : 1);

async function sweep(scenario: Scenario, points: readonly CrashPoint[]): Promise<PointResult[]> {
  const started = performance.now();
  const minutes = () => `${((performance.now() - started) / 60_000).toFixed(1)} min`;
  const done: PointResult[] = [];
  const progress = setInterval(
    () => console.log(`  ${done.length} of ${points.length} done, ${minutes()}`),
    progressMs,
  );
  const waiting = points.entries();
  await Promise.all(
    clouds.map(async (_, lane) => {
      for (const [index, point] of waiting) {
        const { verdict, recoveredMs } = await tryPoint(lane, scenario, point, index);
        done.push({ point, verdict, recoveredMs });
        if (verdict.kind !== 'held') console.log(`${nameOf(point)}: ${JSON.stringify(verdict)}`);
      }
    }),
  );
  clearInterval(progress);
  console.log(crashTable(scenario, points, done));
  console.log(minutes());
  return done;
}

/** Every request of a run without a crash, in the order of their kinds, with the positions in which it can be cut. */
async function findPoints(scenario: Scenario): Promise<CrashPoint[]> {
  const gates: Gate[] = [];
  for (let run = 0; run < discoveryRuns; run++) {
    const { verdict, gate } = await attempt(0, scenario, `${scenario.name}-look-${run + 1}`);
    if (verdict.kind === 'broken')
      throw new Error(`without a crash it does not add up: ${verdict.problems.join('; ')}`);
    gates.push(gate);
  }
  const most = new Map<string, number>();
  for (const gate of gates)
    for (const [label, count] of gate.counts()) most.set(label, Math.max(count, most.get(label) ?? 0));
  return [...most]
    .filter(([label]) => label.includes(values.only))
    .flatMap(([label, count]) => {
      const only = gates.flatMap((gate) => gate.only.get(label) ?? []);
      const cuts = only.length === 0 ? positions : only.slice(0, 1);
      return spread(count, occurrences).flatMap((occurrence) =>
        cuts.map((position) => ({ label, occurrence, position })),
      );
    });
}

/** At most `limit` of the numbers from 1 to `count`: the first, the last, and between them at even distances. */
function spread(count: number, limit: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  if (count <= limit) return all;
  if (limit === 1) return [1];
  return Array.from({ length: limit }, (_, index) => 1 + Math.round((index * (count - 1)) / (limit - 1)));
}

async function tryPoint(
  lane: number,
  scenario: Scenario,
  point: CrashPoint,
  index: number,
): Promise<TrialResult> {
  for (let tries = 0; ; tries++) {
    const result = await attempt(lane, scenario, `${scenario.name}-${index}-${tries}`, point);
    if (result.verdict.kind !== 'notReached' || tries >= retries) return result;
  }
}

/** One trial in the cloud of a lane. A cloud in which something broke is no place for the next trial. */
async function attempt(
  lane: number,
  scenario: Scenario,
  id: string,
  point?: CrashPoint,
): Promise<TrialResult> {
  const cloud = clouds[lane];
  if (cloud === undefined) throw new RangeError(`there is no lane ${lane}`);
  const result = await runTrial(cloud, scenario, id, point);
  if (result.verdict.kind === 'broken') {
    console.log(`  broken: ${keepTrial(id, result)}`);
    await cloud[Symbol.asyncDispose]();
    clouds[lane] = await startLocalCloud({ serviceBusConfig });
  }
  return result;
}

function nameOf({ label, occurrence, position }: CrashPoint): string {
  return `  ${position} ${label} #${occurrence}`;
}
