/**
 * Takes services away from a simulated fleet, alone and in pairs, and looks at what is seen of it and what is left.
 *
 *     npm run check -- outages [--away cosmos+provider] [--minutes 1800] [--how refused] [--seed S] [--jobs J]
 *
 * Without options: each of the four services and each pair, for 1 and 20 minutes, 3 and 30 hours, refused, silent and denied.
 * Exits with 1 if something stayed unpaid, was parked or became a dead letter, took too long, or raised no alert.
 */
import { parseArgs } from 'node:util';
import { bar, firstAlert } from './judgeOutage.ts';
import { combinations, durations, manners } from './outageCell.ts';
import { runOutages } from './runOutages.ts';

const { values } = parseArgs({
  options: {
    away: { type: 'string' },
    minutes: { type: 'string' },
    how: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
  },
});

function chosen<T>(
  name: string,
  all: readonly T[],
  text: string | undefined,
  nameOf: (one: T) => string,
): T[] {
  const found = all.filter((one) => text === undefined || nameOf(one) === text);
  if (found.length === 0)
    throw new RangeError(`--${name}: expected one of ${all.map(nameOf).join(', ')}, got "${text}"`);
  return found;
}

function wholeNumber(name: 'seed' | 'jobs', least: number): number {
  const value = Number(values[name]);
  if (!Number.isSafeInteger(value) || value < least)
    throw new RangeError(`--${name}: expected a whole number of at least ${least}, got "${values[name]}"`);
  return value;
}

const cells = chosen('minutes', durations, values.minutes, String).flatMap((minutes) =>
  chosen('away', combinations, values.away, (away) => away.join('+')).flatMap((away) =>
    chosen('how', manners, values.how, (how) => how).map((how) => ({ away, minutes, how })),
  ),
);
const columns = [22, 8, 8, 14, 9, 7, 22];
const row = (parts: readonly (string | number)[]) =>
  console.log(parts.map((part, n) => String(part).padEnd(columns[n] ?? 0)).join(' '));
row(['away', 'minutes', 'how', 'alert after', 'backlog', 'ideal', 'paid after (at most)', 'looked up']);
const results = await runOutages(cells, {
  seed: wholeNumber('seed', 0),
  jobs: wholeNumber('jobs', 1),
  onResult({ cell, seen, wrong }) {
    const { away, minutes, how } = cell;
    row([
      away.join('+'),
      minutes,
      how,
      `${firstAlert(cell, seen) ?? '-'} min`,
      seen.backlog,
      seen.idealMinutes.toFixed(1),
      `${seen.paidAfterMinutes.toFixed(1)} (${bar(seen).toFixed(1)}) min`,
      seen.lookedUp === 0 ? '-' : `${seen.lookedUp}, paid after ${seen.lookedUpAfterMinutes.toFixed(1)} min`,
    ]);
    for (const what of wrong) console.log(`    ${what}`);
  },
});
const failed = results.filter(({ wrong }) => wrong.length > 0).length;
const cpuS = results.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / 1000;
console.log(
  `${results.length} outages, ${failed} not as they should be; ${cpuS.toFixed(0)} s of processor time`,
);
process.exitCode = failed === 0 ? 0 : 1;
