/**
 * Measures how much of the provider's allowance (calls per second) becomes paid invoices, for allowances, latencies and
 * numbers of hosts:
 *
 *   npm run bench -- pace [--rates 25,100,400] [--latencies 300,1000] [--hosts 1,3,8] [--kill] [--add]
 *                    [--seconds 60] [--warm-up 15] [--trace]
 *
 * --kill: of three hosts, the one that claims is killed halfway. --add: a third host joins two halfway.
 * Without --hosts, --kill and --add: all of them. --trace also prints the charges of each second.
 *
 * Each cell has a local cloud and hosts of its own and takes about two minutes. The exit code is 1 if a cell
 * misses a bar.
 */
import { parseArgs } from 'node:util';
import { errorText } from '../../packages/leases/src/errorText.ts';
import { wholeNumberArgument } from '../../packages/local-azure/src/wholeNumberArgument.ts';
import { type Cell, type Change, cellsOf } from './cells.ts';
import { listArgument } from './listArgument.ts';
import { measureCell } from './measureCell.ts';
import { failureRowOf, heading, rowOf } from './table.ts';
import { bars, missesOf } from './verdict.ts';

const { values } = parseArgs({
  options: {
    rates: { type: 'string', default: '25,100,400' },
    latencies: { type: 'string', default: '300,1000' },
    hosts: { type: 'string' },
    kill: { type: 'boolean', default: false },
    add: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    'warm-up': { type: 'string', default: '15' },
    trace: { type: 'boolean', default: false },
  },
});
const seconds = (name: 'seconds' | 'warm-up') =>
  wholeNumberArgument(`--${name}`, values[name], { min: 5, of: 'seconds' });
const times = { warmUpMs: seconds('warm-up') * 1000, measureMs: seconds('seconds') * 1000 };
const chosen = (['kill', 'add'] as const).filter((change) => values[change]);
const all = values.hosts === undefined && chosen.length === 0;
const changes: Change[] = all ? ['kill', 'add'] : chosen;
const cells = cellsOf({
  rates: listArgument('--rates', values.rates, 'calls per second'),
  latencies: listArgument('--latencies', values.latencies, 'milliseconds'),
  hosts: values.hosts === undefined && !all ? [] : listArgument('--hosts', values.hosts ?? '1,3,8', 'hosts'),
  changes,
});

console.log(heading);
let missed = 0;
for (const cell of cells) if (!(await meetsBars(cell))) missed++;
const { share, shareAfterChange, refused, claimsPerPaid } = bars;
console.log(
  `${cells.length - missed} of ${cells.length} cells meet the bars: share at least ${share}, at least ` +
    `${shareAfterChange} after a change, at most ${refused * 100} % refused, at most ${claimsPerPaid} claims`,
);
if (missed > 0) process.exitCode = 1;

async function meetsBars(cell: Cell): Promise<boolean> {
  try {
    const { measured, chargesBySecond } = await measureCell(cell, times);
    const misses = missesOf(cell, measured);
    console.log(rowOf(cell, measured, misses));
    if (values.trace) console.log(`  charges by second: ${chargesBySecond.join(' ')}`);
    return misses.length === 0;
  } catch (error) {
    console.log(failureRowOf(cell, errorText(error)));
    return false;
  }
}
