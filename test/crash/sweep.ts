/**
 * The crash-point sweep: `npm run check -- crash`. It lets payments pass to find the requests they make, then kills the host
 * at each of them, before the request is forwarded and after it was applied.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../support/endWithProcess.ts';
import { type LocalCloud, startLocalCloud } from '../support/localCloud.ts';
import { conclude } from './conclusion.ts';
import { type CrashPoint, type Gate, positions } from './gate.ts';
import { keepTrial } from './keepTrial.ts';
import { scenarios } from './scenarios.ts';
import { crashPointTables, crashTable, type PointResult, replaceTables } from './table.ts';
import { runTrial, type Scenario, type TrialResult } from './trial.ts';

const usage = `npm run check -- crash [options]
  --scenario NAME   one of: ${scenarios.map(({ name }) => name).join(', ')} (default: all)
  --lanes N         parallel trials, each in its own local cloud (default 4)
  --only TEXT       only points whose name contains TEXT
  --occurrences N   at most N of the occurrences of each kind of request, spread evenly (default: all)
  --list            find the points and print them, but kill nothing
  --write           write the tables to docs/crash-points.md; only for a sweep of everything that passes`;

/** Runs differ slightly in the requests they make. A request seen in any of these runs is a point. */
const discoveryRuns = 2;
/** Extra tries for a point that was not reached. */
const retries = 2;
/** Milliseconds between two progress lines. */
const progressMs = 30_000;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    lanes: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    occurrences: { type: 'string' },
    list: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
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
const partial = wanted.length < scenarios.length || values.only !== '' || Number.isFinite(occurrences);
if (
  unknown.length > 0 ||
  !(occurrences >= 1) ||
  !Number.isInteger(lanes) ||
  lanes < 1 ||
  (values.write && (partial || values.list))
) {
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
if (values.write && passed) {
  const page = fileURLToPath(new URL('../../docs/crash-points.md', import.meta.url));
  writeFileSync(page, replaceTables(readFileSync(page, 'utf8'), crashPointTables(results)));
}
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
  return done.toSorted((a, b) => points.indexOf(a.point) - points.indexOf(b.point));
}

/** Every request of a run without a crash, grouped by kind, with the positions in which it can be cut. */
async function findPoints(scenario: Scenario): Promise<CrashPoint[]> {
  const gates: Gate[] = [];
  for (let run = 0; run < discoveryRuns; run++) {
    const { verdict, gate } = await attempt(0, scenario, `${scenario.name}-look-${run + 1}`);
    if (verdict.kind === 'broken')
      throw new Error(`a run without a crash does not add up: ${verdict.problems.join('; ')}`);
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
      return spread(count, Math.min(occurrences, scenario.occurrences ?? occurrences)).flatMap((occurrence) =>
        cuts.map((position) => ({ label, occurrence, position })),
      );
    });
}

/** At most `limit` of the numbers from 1 to `count`: the first, the last, and evenly spaced ones between. */
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

/** One trial in a lane's cloud. A cloud in which a trial broke is replaced before the next one. */
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
