/**
 * Simulates a first of the month: N invoices are due at once, and nothing goes wrong.
 *
 *     npm run check -- scale --invoices N [--instances K] [--rate R] [--shards S] [--groups G] [--batch B] [--seed X] [--json]
 *
 * Prints the row of the table in docs/scale.md, and what asked Cosmos DB how often; `--json`: all that was counted. Exits with 1 if an invariant did not hold
 * or an invoice was not paid exactly once.
 */
import { parseArgs } from 'node:util';
import { replaceGlobals } from '../engine/globals.ts';
import { defaultScale, type ScaleOptions, simulateScale } from './simulateScale.ts';
import { tableOf } from './tableOf.ts';

const { values } = parseArgs({
  options: {
    invoices: { type: 'string' },
    instances: { type: 'string' },
    rate: { type: 'string' },
    shards: { type: 'string' },
    groups: { type: 'string' },
    batch: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

function wholeNumber(
  name: Exclude<keyof typeof values, 'json'>,
  least: number,
  most: number,
  otherwise?: number,
): number {
  const text = values[name];
  if (text === undefined && otherwise !== undefined) return otherwise;
  const value = Number(text);
  if (text === undefined || !Number.isSafeInteger(value) || value < least || value > most)
    throw new RangeError(`--${name}: expected a whole number from ${least} to ${most}, got "${text}"`);
  return value;
}

const options: ScaleOptions = {
  invoices: wholeNumber('invoices', 1, 20_000_000),
  instances: wholeNumber('instances', 1, 200, defaultScale.instances),
  rate: wholeNumber('rate', 1, 10_000, defaultScale.rate),
  shards: wholeNumber('shards', 1, 256, defaultScale.shards),
  shardGroups: wholeNumber('groups', 1, 256, defaultScale.shardGroups),
  batchSize: wholeNumber('batch', 1, 96, defaultScale.batchSize),
  seed: wholeNumber('seed', 0, 2 ** 31, defaultScale.seed),
};
replaceGlobals();
const result = await simulateScale(options, (line) => console.error(line));
const { invoices } = options;
if (values.json) console.log(JSON.stringify(result));
else for (const line of tableOf(options, result)) console.log(line);
const isRight = result.paid === invoices && result.charges === invoices && result.violation === undefined;
if (!isRight)
  console.log(`paid ${result.paid}, charged ${result.charges}; ${result.violation ?? 'no violation'}`);
process.exitCode = isRight ? 0 : 1;
