/**
 * Measures the cost of tracing: the same invoices on one host, with tracing off and on in turns, against the same stand-ins in
 * one run.
 * Application Insights is played by a program that takes everything and keeps nothing. Needs `openssl` for its certificate, as
 * the exporter speaks TLS only.
 *
 *   npm run bench -- tracing [--pairs N] [--invoices N] [--sample S]
 *
 * Prints the time per invoice of each run until all are paid, the processor time of the host until their receipts are written,
 * and the ratios of the pairs. Stops if spans are not exported where they should be, or are where they should not.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
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
  console.error('npm run bench -- tracing [--pairs N] [--invoices N] [--sample S]');
  process.exit(2);
}

const { address, certificate, received } = await startSink();
const common = {
  APPLICATIONINSIGHTS_CONNECTION_STRING: `InstrumentationKey=11111111-2222-3333-4444-555555555555;IngestionEndpoint=${address}`,
  APPLICATION_INSIGHTS_NO_STATSBEAT: 'true',
  NODE_EXTRA_CA_CERTS: certificate,
};
await using app = await startPayingApp();
const wall = { off: [] as number[], on: [] as number[] };
const processor = { off: [] as number[], on: [] as number[] };
for (let n = 0; n <= pairs; n++) {
  // Each goes first in every other pair, and the first pair only warms the stand-ins up.
  for (const kind of n % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
    await app.importDue(`${kind}-${n}`, invoices);
    await app.startHost({ ...common, TRACE_SAMPLE: kind === 'on' ? values.sample : 'off' });
    const before = received();
    const startUp = app.processorSeconds();
    const { seconds } = await app.payDue(invoices);
    await app.followUpsDone();
    const used = app.processorSeconds() - startUp;
    await app.stopHost();
    const each = (seconds * 1000) / invoices;
    const eachUsed = (used * 1000) / invoices;
    const spans = received() - before;
    if (spans > 0 !== (kind === 'on')) throw new Error(`${spans} spans with tracing ${kind}`);
    const name = n === 0 ? 'warm-up' : `pair ${n}`;
    console.log(
      `${name.padEnd(8)} ${kind.padEnd(3)} ${each.toFixed(3)} ms per invoice until paid, ` +
        `${eachUsed.toFixed(3)} ms of processor time with its receipt, ${spans} spans`,
    );
    if (n === 0) continue;
    wall[kind].push(each);
    processor[kind].push(eachUsed);
  }
}
console.log(`TRACE_SAMPLE=${values.sample}, on / off:`);
for (const [name, ms] of Object.entries({ time: wall, 'processor time': processor })) {
  const ratios = ms.on.map((on, n) => on / (ms.off[n] ?? Number.NaN));
  console.log(
    `${name}: pairs ${ratios.map((ratio) => ratio.toFixed(3)).join(', ')}; median of the pairs ${median(ratios).toFixed(3)}; ` +
      `medians ${median(ms.on).toFixed(3)} ms / ${median(ms.off).toFixed(3)} ms = ${(median(ms.on) / median(ms.off)).toFixed(3)}`,
  );
}
process.exit(0);

function median(given: readonly number[]): number {
  const sorted = given.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return ((sorted[middle] ?? 0) + (sorted[sorted.length - 1 - middle] ?? 0)) / 2;
}

async function startSink() {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-bench-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1'];
  const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', [...request, ...name, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  let spans = 0;
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (request, response) => {
      void request.toArray().then((chunks: Buffer[]) => {
        const body = Buffer.concat(chunks);
        const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
        spans += text.toString().split('"RemoteDependencyData"').length - 1;
        response.end('{"itemsReceived":1,"itemsAccepted":1,"errors":[]}');
      });
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { address: `https://127.0.0.1:${port}/`, certificate, received: () => spans };
}
