/**
 * The fuzz run: `npm run check -- fuzz`. Odd requests to all routes of a host, see fuzz.ts for what must hold; then 2,000 payments
 * beside strangers who send what might never end (payBesideStrangers.ts).
 */
import { parseArgs } from 'node:util';
import { describeProcesses } from '../support/measuredProcesses.ts';
import { payBesideStrangers } from './payBesideStrangers.ts';
import { fuzzOneHost } from './startFuzzed.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    invoices: { type: 'string', default: '2000' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
  },
});
const [requests = 0, seed = 0, invoices = 0] = [values.requests, values.seed, values.invoices].map(Number);
if (!Number.isInteger(requests) || !Number.isInteger(seed) || requests < 1) {
  console.error('npm run check -- fuzz [--requests N] [--seed S] [--invoices N]');
  process.exit(2);
}

const started = performance.now();
const { statuses, rows, problems, processes } = await fuzzOneHost({ requests, seed });
const seconds = ((performance.now() - started) / 1_000).toFixed(0);
const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(
  `${requests} requests with seed ${seed} in ${seconds} s; answers ${counts.join(', ')}; ${rows} good rows`,
);
console.log(describeProcesses(processes));
const paid = await payBesideStrangers(invoices);
console.log(paid.report);
problems.push(...paid.problems);
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`);
console.log(problems.length === 0 ? 'held' : `BROKEN: ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
