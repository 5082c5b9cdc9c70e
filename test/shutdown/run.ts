/**
 * The shutdown campaign: `npm run check -- shutdown`. Hosts are stopped as Azure stops them, at random moments of a run, and
 * replaced. Every invoice must be paid once, every record must be right, every lease free in time.
 */
import { parseArgs } from 'node:util';
import { exitOnSignals } from '../support/endWithProcess.ts';
import { startLocalCloud } from '../support/localCloud.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { longestDelayMs, payThroughShutdowns } from './shutdowns.ts';

const usage = `npm run check -- shutdown [options]
  --invoices N      default 5000
  --terminations N  hosts that get SIGTERM (default 20)
  --kills N         how many of them get SIGKILL instead (default 0)
  --minutes M       how long the import takes (default 4)
  --hosts N         default 3
  --seed S          whole number; the same seed gives the same moments (default: from the clock)`;

const { values } = parseArgs({
  options: {
    invoices: { type: 'string', default: '5000' },
    terminations: { type: 'string', default: '20' },
    kills: { type: 'string', default: '0' },
    minutes: { type: 'string', default: '4' },
    hosts: { type: 'string', default: '3' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    help: { type: 'boolean', default: false },
  },
});
const [invoices = 0, terminations = 0, kills = 0, hosts = 0, seed = Number.NaN] = [
  values.invoices,
  values.terminations,
  values.kills,
  values.hosts,
  values.seed,
].map(Number);
const durationMs = Number(values.minutes) * 60_000;
const wrong =
  ![invoices, terminations, kills, hosts, seed].every(Number.isInteger) ||
  kills > terminations ||
  !(durationMs > 0) ||
  hosts < 2;
if (values.help || wrong) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}

exitOnSignals();
console.log(
  `seed ${seed}: ${terminations} shutdowns, ${kills} of them kills, in ${values.minutes} min, ${hosts} hosts, ${invoices} invoices`,
);
await using cloud = await startLocalCloud();
const report = await payThroughShutdowns(cloud, {
  invoices,
  terminations,
  kills,
  hosts,
  durationMs,
  random: seededRandom(seed),
  say: console.log,
});
const { evidence, delays, leases, stops, runs, problems } = report;
const seconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`;
const quantile = (share: number) => seconds(delays[Math.floor(share * (delays.length - 1))]);
const manual = runs.filter(({ trigger }) => trigger === 'manual');
console.log(`Invoices    ${evidence.invoices.length}, charges ${evidence.charges.length}`);
console.log(`Shutdowns   ${stops.length}, each within ${seconds(Math.max(...stops))}`);
console.log(`Leases      ${leases.left} left to run out by ${leases.of} hosts`);
console.log(`Runs        ${runs.length}, of which ${manual.length} manual`);
console.log(
  `Waited      half ${quantile(0.5)}, 95 % ${quantile(0.95)}, all ${quantile(1)} (explained: ${seconds(longestDelayMs)})`,
);
for (const problem of problems) console.log(`  ${problem}`);
console.log(problems.length === 0 ? 'Everything adds up.' : `It does not add up (seed ${seed}).`);
process.exitCode = problems.length === 0 ? 0 : 1;
