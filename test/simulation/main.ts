/**
 * Runs schedules of the simulation and looks for violations.
 *
 *     npm run check -- simulate --seeds N [--from S] [--instances K] [--days D] [--jobs J] [--strict]
 *     npm run check -- simulate --seed S [--trace] [--sabotage NAME]
 *
 * Exits with 1 at the first violation, after printing its seed, the faults that it needs and the history of the invoice
 * concerned. `--strict` counts findings that are known to be open (invariants/open.ts), too. `--sabotage` puts a
 * fault into the app first: a guard of test/guards that is switched off, or one of sabotage/sabotages.ts.
 */
import { parseArgs } from 'node:util';
import { campaign } from './campaign.ts';
import { applySabotage } from './sabotage/applySabotage.ts';
import { sabotageNamed } from './sabotage/catalogue.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    instances: { type: 'string' },
    days: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    strict: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    sabotage: { type: 'string' },
  },
});

function numberOf(name: 'seeds' | 'from' | 'seed' | 'instances' | 'days' | 'jobs'): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  const isGood =
    name === 'days' ? value > 0 : Number.isSafeInteger(value) && value >= (name.startsWith('se') ? 0 : 1);
  if (!isGood || (name === 'instances' && value > 20))
    throw new RangeError(
      `--${name}: expected a ${name === 'days' ? 'positive' : 'whole'} number, got "${text}"`,
    );
  return value;
}

const instances = numberOf('instances');
const days = numberOf('days');
const seed = numberOf('seed');
const { strict, trace, all } = values;
const sabotage = values.sabotage === undefined ? undefined : sabotageNamed(values.sabotage);
const shape = {
  ...(instances === undefined ? {} : { instances }),
  ...(days === undefined ? {} : { days }),
};
const held =
  seed === undefined
    ? await campaign(
        {
          ...shape,
          strict,
          all,
          sabotage: sabotage?.name,
          from: numberOf('from') ?? 1,
          seeds: numberOf('seeds') ?? 1,
          jobs: numberOf('jobs') ?? 2,
        },
        (line) => console.log(line),
      )
    : await replayOne(seed);
process.exitCode = held ? 0 : 1;

async function replayOne(one: number): Promise<boolean> {
  if (sabotage !== undefined) applySabotage(sabotage);
  // The app is loaded with the fault in it.
  const { replay } = await import('./replay.ts');
  return replay({ ...shape, seed: one, strict, trace }, (line) => console.log(line));
}
