/**
 * Receipts per second of one host, from the outbox to the last record, and requests per receipt, in turns with another
 * checkout of this project on the same stand-ins in the same run. Each turn has a new local cloud, and ends with bare uploads
 * of as many blobs: no host can be faster than those.
 *
 *   npm run bench -- receipts [--receipts N] [--rounds N] [--baseline DIR] [--least RATIO]
 *
 * With `--baseline` the last line is the ratio of the medians, and the exit code is 1 if it is below RATIO. It is 1 as well
 * if a receipt is missing or doubled.
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Figures, receiptsOfOneHost } from './receiptsOfOneHost.ts';

const { values } = parseArgs({
  options: {
    receipts: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '3' },
    baseline: { type: 'string' },
    least: { type: 'string', default: '8' },
  },
});
const [receipts = 0, rounds = 0, least = 0] = [values.receipts, values.rounds, values.least].map(Number);
if (![receipts, rounds].every((count) => Number.isInteger(count) && count > 0) || !(least > 0)) {
  console.error('npm run bench -- receipts [--receipts N] [--rounds N] [--baseline DIR] [--least RATIO]');
  process.exit(2);
}

const here = resolve(import.meta.dirname, '..');
const checkouts = [
  ...(values.baseline === undefined ? [] : [{ name: 'baseline', folder: resolve(values.baseline) }]),
  { name: 'this', folder: here },
];
const rates = new Map<string, number[]>();
for (let round = 1; round <= rounds; round++) {
  for (const { name, folder } of checkouts) {
    const figures = await receiptsOfOneHost(folder, receipts);
    print(name, figures);
    rates.set(name, [...(rates.get(name) ?? []), receipts / figures.seconds]);
    if (figures.written !== receipts || figures.recorded !== receipts) process.exitCode = 1;
  }
}
const [before, now] = ['baseline', 'this'].map((name) => median(rates.get(name) ?? []));
if (before !== undefined && now !== undefined) {
  const ratio = now / before;
  const enough = ratio >= least;
  console.log(
    `ratio: ${now.toFixed(0)} / ${before.toFixed(0)} receipts per second = ${ratio.toFixed(1)} times as fast, ` +
      `${enough ? 'at least' : 'LESS THAN'} ${least}`,
  );
  if (!enough) process.exitCode = 1;
}

function print(name: string, { seconds, written, recorded, requests, bareUploads }: Figures): void {
  const each = Object.entries(requests).map(([what, count]) => `${what} ${(count / receipts).toFixed(2)}`);
  console.log(
    `${name.padEnd(9)} ${receipts} receipts in ${seconds.toFixed(1)} s: ${(receipts / seconds).toFixed(0)} per second; ` +
      `${written} written, ${recorded} recorded; requests per receipt: ${each.join(', ')}; bare uploads: ${bareUploads.toFixed(0)} per second`,
  );
}

function median(values: readonly number[]): number | undefined {
  const inOrder = values.toSorted((a, b) => a - b);
  const [below, above] = [(values.length - 1) / 2, values.length / 2]
    .map(Math.floor)
    .map((at) => inOrder[at]);
  return below === undefined || above === undefined ? undefined : (below + above) / 2;
}
