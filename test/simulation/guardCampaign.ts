/**
 * Switches off one guard of test/guards at a time, or puts a fault into the app (sabotage/sabotages.ts), and looks whether
 * the simulation finds that within 2,000 schedules.
 *
 *     npm run check -- simulated-guards [PART_OF_A_NAME] [--seeds N] [--from S] [--jobs J] [--all] [--compare]
 *
 * Exits with 1 if one is found that blind.ts names as out of sight, or one is not found that it does not name. `--all`
 * goes on after the first schedule that finds it, and counts them. `--compare` tells of those that are not found in how many
 * schedules something else happened than without the fault.
 */
import { parseArgs } from 'node:util';
import { outOfSight } from './sabotage/blind.ts';
import { catalogue } from './sabotage/catalogue.ts';
import type { Sabotage } from './sabotage/sabotages.ts';
import { runSchedules, type SchedulesOptions } from './schedules.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
    all: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
  },
});
const [from, seeds, jobs] = [Number(values.from), Number(values.seeds), Number(values.jobs)];
const [part = ''] = positionals;
const exact = catalogue.filter(({ name }) => name === part);
const wanted = exact.length > 0 ? exact : catalogue.filter(({ name }) => name.includes(part));
const shape = { from, seeds, jobs: 1, strict: false } satisfies Partial<SchedulesOptions>;

/** The history of each seed without a fault, as far as it was needed so far. */
let whole: Promise<ReadonlyMap<number, string>> | undefined;
async function withoutFault(): Promise<ReadonlyMap<number, string>> {
  const results = await runSchedules({ ...shape, onViolation: 'goOn' });
  return new Map(results.flatMap(({ schedules }) => schedules.map(({ seed, hash }) => [seed, hash])));
}

/** Runs the schedules with the fault. Returns the finding in words, and whether the fault was found. */
async function verdictOn({ name }: Sabotage): Promise<{ found: boolean; says: string }> {
  const results = await runSchedules({ ...shape, sabotage: name, onViolation: values.all ? 'goOn' : 'stop' });
  const done = results.flatMap(({ schedules }) => schedules);
  const failed = done.filter(({ violation }) => violation !== undefined);
  const [first] = failed;
  if (first?.violation !== undefined) {
    const { invariant, what } = first.violation;
    const count = values.all ? ` (and ${failed.length - 1} more)` : '';
    return { found: true, says: `seed ${first.seed}${count}: ${invariant}: ${what}` };
  }
  if (!values.compare) return { found: false, says: `in ${seeds} schedules` };
  whole ??= withoutFault();
  const before = await whole;
  const other = done.filter(({ seed, hash }) => before.get(seed) !== hash).length;
  return { found: false, says: `in ${other} of ${seeds} schedules something else happens` };
}

let wrong = 0;
let seen = 0;
const waiting = [...wanted];
await Promise.all(
  Array.from({ length: jobs }, async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const why = outOfSight[one.name];
      const { found, says } = await verdictOn(one).catch((error: Error) => ({
        found: undefined,
        says: `it does not run: ${error.message}`,
      }));
      if (found === true) seen++;
      if (found !== (why === undefined)) wrong++;
      const verdict = found ? 'found' : why === undefined ? 'NOT FOUND' : `out of sight: ${why}`;
      console.log(
        `${one.name}\n    ${verdict}${found && why !== undefined ? ', but blind.ts names it' : ''}; ${says}`,
      );
    }
  }),
);
console.log(`${seen} of ${wanted.length} are found; ${wrong} not as expected`);
process.exitCode = wrong === 0 ? 0 : 1;
