/**
 * What tracing costs: the same invoices on one host, with tracing off and on in turns, against the same stand-ins in one run.
 * Application Insights is played by a program that takes everything and keeps nothing.
 *
 *   npm run bench:tracing -- [--pairs N] [--invoices N] [--sample S]
 *
 * Prints the time per invoice of each run, and the ratio of each pair and of the medians.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { startPayingApp } from './payingApp.ts';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '4' },
    invoices: { type: 'string', default: '4000' },
    sample: { type: 'string', default: '0.1' },
  },
});
const [pairs, invoices] = [values.pairs, values.invoices].map(Number);
if (
  !Number.isInteger(pairs) ||
  !Number.isInteger(invoices) ||
  pairs === undefined ||
  invoices === undefined
) {
  console.error('npm run bench:tracing -- [--pairs N] [--invoices N] [--sample S]');
  process.exit(2);
}

const { address, received } = await startSink();
const common = {
  APPLICATIONINSIGHTS_CONNECTION_STRING: `InstrumentationKey=11111111-2222-3333-4444-555555555555;IngestionEndpoint=${address}`,
  APPLICATION_INSIGHTS_NO_STATSBEAT: 'true',
};
await using app = await startPayingApp();
const ms = { off: [] as number[], on: [] as number[] };
for (let n = 0; n <= pairs; n++) {
  // Each goes first in every other pair, and the first pair only warms the stand-ins up.
  for (const kind of n % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
    await app.importDue(`${kind}-${n}`, invoices);
    await app.startHost({ ...common, TRACE_SAMPLE: kind === 'on' ? values.sample : 'off' });
    const before = received();
    const { seconds } = await app.payDue(invoices);
    await app.stopHost();
    const each = (seconds * 1000) / invoices;
    const bytes = received() - before;
    const name = n === 0 ? 'warm-up' : `pair ${n}`;
    console.log(
      `${name.padEnd(8)} ${kind.padEnd(3)} ${each.toFixed(3)} ms per invoice, ${bytes} bytes of telemetry`,
    );
    if (n > 0) ms[kind].push(each);
  }
}
const ratios = ms.on.map((on, n) => on / (ms.off[n] ?? Number.NaN));
console.log(`ratios of the pairs: ${ratios.map((ratio) => ratio.toFixed(3)).join(', ')}`);
console.log(
  `TRACE_SAMPLE=${values.sample}: median ${median(ms.on).toFixed(3)} ms against ${median(ms.off).toFixed(3)} ms, ` +
    `ratio ${(median(ms.on) / median(ms.off)).toFixed(3)}`,
);
process.exit(0);

function median(given: readonly number[]): number {
  const sorted = given.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return ((sorted[middle] ?? 0) + (sorted[sorted.length - 1 - middle] ?? 0)) / 2;
}

async function startSink() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end('{"itemsReceived":1,"itemsAccepted":1,"errors":[]}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}/`, received: () => bytes };
}
