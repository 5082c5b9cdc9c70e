/**
 * Time and memory of the largest bodies: 145,000 rows of JSON (31 MB) in bodies of 12 MB at most, the export of 100,000 of them,
 * and as many imports of 12 MB as an instance of 2 GB takes at once.
 *
 *   npm run bench -- bodies [--part ROWS] [--at-once N]
 */
import { parseArgs } from 'node:util';
import { startLocalApp } from './localApp.ts';
import { residentMb } from './pace/memory.ts';

const { values } = parseArgs({
  options: { part: { type: 'string', default: '55000' }, 'at-once': { type: 'string', default: '16' } },
});
const [part, atOnce] = [Number(values.part), Number(values['at-once'])];
const never = '0 0 0 29 2 *';
const rows = 145_000;
const exported = 100_000;

await using app = await startLocalApp();
const host = await app.startHost('bodies', { INVOICE_SCHEDULE: never, OUTBOX_SCHEDULE: never });
const address = `http://127.0.0.1:${host.port}/api/ops`;

const bodies: Buffer[] = [];
for (let first = 0; first < rows; first += part) bodies.push(bodyOf(first, Math.min(part, rows - first)));
const sizes = bodies.map(({ length }) => megabytes(length)).join(', ');
await measured(`import of ${rows} rows, one body after the other: ${sizes}`, async () => {
  const answers: string[] = [];
  for (const body of bodies) answers.push(await post(body));
  return answers.join(' ');
});
await measured(`export of ${exported} rows`, async () => {
  const started = performance.now();
  const response = await fetch(`${address}/invoices.csv?customer=exported`);
  let [first, bytes, lines] = [0, 0, 0];
  for await (const chunk of response.body ?? []) {
    if (first === 0) first = performance.now() - started;
    bytes += chunk.byteLength;
    lines += Buffer.from(chunk).toString('latin1').split('\n').length - 1;
  }
  if (lines !== exported + 1) throw new Error(`${response.status}: the export has ${lines} lines`);
  return `${megabytes(bytes)}, first byte after ${first.toFixed(0)} ms`;
});
const largest = bodies[0] ?? Buffer.alloc(0);
await measured(
  `${atOnce} imports of ${megabytes(largest.length)} at once, all rows stored already`,
  async () => {
    const answers = await Promise.all(Array.from({ length: atOnce }, () => post(largest)));
    return [...new Set(answers)].join(' ');
  },
);

function bodyOf(first: number, count: number): Buffer {
  const of = (n: number) => ({
    id: `row-${n}`,
    customerId: n < exported ? 'exported' : `cus_${n % 1_000}`,
    amountMinor: 100 + (n % 90_000),
    currency: 'USD',
    dueAt: '2099-01-31T12:00:00Z',
    paymentMethod: 'pm_card_visa',
    description: 'Subscription, twelve months, paid in advance, renewal of the contr',
  });
  return Buffer.from(JSON.stringify(Array.from({ length: count }, (_, n) => of(first + n))));
}

async function post(bytes: Buffer): Promise<string> {
  const response = await fetch(`${address}/invoices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Uint8Array(bytes),
  });
  const counts = /"created.*?rejectedCount":\d+/.exec(await response.text())?.[0];
  return `${response.status} ${counts}`;
}

/** The most memory of the host and its worker together meanwhile, in MB; only Linux tells. */
async function measured(name: string, work: () => Promise<string>): Promise<void> {
  const look = () => residentMb(host.process.pid) ?? Number.NaN;
  const before = look();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, look());
  }, 50);
  const started = performance.now();
  const what = await work().finally(() => clearInterval(timer));
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(
    `${name}: ${seconds} s, memory ${before.toFixed(0)} MB, at most ${most.toFixed(0)} MB; ${what}`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}
