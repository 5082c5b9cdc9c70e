import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { freePorts } from '../packages/local-azure/src/freePorts.ts';
import { wholeNumberArgument } from '../packages/local-azure/src/wholeNumberArgument.ts';
import { ensureDashboard } from '../scripts/buildDashboard.ts';
import { type Child, startChild } from './start/child.ts';
import { addUp, type Figures, isSettled, readFigures, readOverRate } from './start/figures.ts';
import { type Imported, progressLine, report } from './start/report.ts';
import { trafficArguments } from './stripe/trafficArguments.ts';

const usage = `npm start -- [options]
  --instances N         hosts that race for the work (default 3)
  --no-timer-singleton  every host fires its timers, as if the platform's own lock had failed
  --demo                instead of all that: a page on which to break things (docs/demo.md)
  --once                exit after the first run, with code 0 only if every figure adds up
  --rate N              payment calls per second to each endpoint other than search; more get 429
  --search-rate N       payment searches per second; more get 429
  --account-rate N      payment calls per second to all endpoints together; more get 429. Default of each
                        rate: no limit
  --latency MS          median milliseconds a payment call takes (default 0)
  --folder DIR          folder for data and logs (default .local)
  --reset               delete the data of earlier runs`;

/** Milliseconds after which the first run counts as stuck. */
const firstRunTimeoutMs = 240_000;
const pollMs = 1_000;
const graceMs = 35_000;

const { values } = parseArgs({
  options: {
    instances: { type: 'string', default: '3' },
    'no-timer-singleton': { type: 'boolean', default: false },
    demo: { type: 'boolean', default: false },
    once: { type: 'boolean', default: false },
    rate: { type: 'string' },
    'search-rate': { type: 'string' },
    'account-rate': { type: 'string' },
    latency: { type: 'string' },
    folder: { type: 'string', default: '.local' },
    reset: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const { folder } = values;
if (values.demo) await (await import('./demo/main.ts')).runDemo(folder);
const instances = wholeNumberArgument('--instances', values.instances, { min: 1, max: 20 });
const { rate, searchRate, accountRate, latencyMs } = trafficArguments(values);
const trafficOptions = Object.entries({
  '--payments-rate': rate,
  '--payments-search-rate': searchRate,
  '--payments-account-rate': accountRate,
  '--payments-latency': latencyMs,
}).flatMap(([name, value]) => (value === undefined ? [] : [name, `${value}`]));

const children: Child[] = [];
let stopping: Promise<void> | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void stop().then(() => process.exit(130)));

try {
  const settled = await run();
  if (values.once || !settled) {
    await stop();
    process.exit(settled ? 0 : 1);
  }
} catch (error) {
  if (stopping !== undefined) await new Promise(() => {});
  console.error(error instanceof Error ? error.message : error);
  await stop();
  process.exit(1);
}

/** Does the whole first run; true if every figure adds up. */
async function run(): Promise<boolean> {
  if (values.reset) rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const ports = await freePorts(instances);
  const address = `http://127.0.0.1:${ports[0]}/api`;
  if (!values.once) console.log(`Dashboard: ${address}/ops/ui (it answers in a moment)`);
  await ensureDashboard();
  console.log('Starting the local cloud: storage, Cosmos, Service Bus, payments …');
  const envFile = join(folder, 'env');
  const cloud = await startChild(
    'the local cloud',
    ['local/cloud.ts', '--data', join(folder, 'data'), '--env-file', envFile, ...trafficOptions],
    { logFile: join(folder, 'logs', 'cloud.log') },
  );
  children.push(cloud);
  const env = Object.fromEntries(
    readFileSync(envFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  const { Cosmos: cosmosConnection = '', STRIPE_API_BASE: payments = '' } = env;

  console.log(`Starting ${instances} instances of the app …`);
  const webhookSecret = `whsec_${randomUUID().replaceAll('-', '')}`;
  const hosts = await Promise.all(
    ports.map((port, index) =>
      startChild(
        `host-${index + 1}`,
        [
          'packages/local-azure/src/functionsHost/main.ts',
          '--port',
          `${port}`,
          '--env-file',
          envFile,
          ...(values['no-timer-singleton'] ? ['--no-timer-singleton'] : []),
        ],
        {
          env: {
            INSTANCE_ID: `host-${index + 1}`,
            INVOICE_SCHEDULE: '*/2 * * * * *',
            OUTBOX_SCHEDULE: '*/5 * * * * *',
            PAYMENT_TIMEOUT_SECONDS: '3',
            STRIPE_WEBHOOK_SECRETS: webhookSecret,
          },
          logFile: join(folder, 'logs', `host-${index + 1}.log`),
        },
      ).then((child) => {
        children.push(child);
        return child;
      }),
    ),
  );
  for (const child of [cloud, ...hosts]) {
    void child.exited.then((code) => {
      if (stopping === undefined) console.error(`${child.name} ended with code ${code}; see ${folder}/logs`);
    });
  }

  await deliverEvents(payments, { url: `${address}/payments/events`, secret: webhookSecret });
  const cosmos = new CosmosClient(cosmosConnection);
  const before = await readFigures({ cosmos, payments });
  const imported = await importSample(address);
  const figures = await untilSettled(() => readFigures({ cosmos, payments }));
  cosmos.dispose();
  const sums = addUp(figures);
  const refused = await readOverRate(payments);
  const lines = report({ imported, figures, sums, refused, chargedBefore: before.charges.length });
  console.log(`\n${lines.join('\n')}\n`);
  const open = !isSettled(figures, Date.now());
  if (open) console.error(`Not everything was settled within ${firstRunTimeoutMs / 1000} s.`);
  if (!values.once) console.log(`Dashboard: ${address}/ops/ui   Ctrl-C ends everything.`);
  return !open && sums.problems.length === 0;
}

/** Lets the payment provider tell a host of its events. Any host may take them: they go to the queue. */
async function deliverEvents(payments: string, target: { url: string; secret: string }): Promise<void> {
  const response = await fetch(`${payments}/_local/webhook`, {
    method: 'POST',
    body: JSON.stringify(target),
  });
  if (!response.ok) throw new Error(`setting the webhook: ${response.status} ${await response.text()}`);
}

async function importSample(address: string): Promise<Imported> {
  const response = await fetch(`${address}/ops/invoices`, {
    method: 'POST',
    headers: { 'content-type': 'text/csv' },
    body: readFileSync('samples/invoices.csv'),
  });
  if (!response.ok)
    throw new Error(`importing samples/invoices.csv: ${response.status} ${await response.text()}`);
  return (await response.json()) as Imported;
}

/** Shows progress until nothing is left to do or the time is up. */
async function untilSettled(read: () => Promise<Figures>): Promise<Figures> {
  const deadline = Date.now() + firstRunTimeoutMs;
  let shown = '';
  for (;;) {
    const figures = await read();
    const line = progressLine(figures, Date.now());
    if (line !== shown) console.log(line);
    shown = line;
    if (isSettled(figures, Date.now()) || Date.now() > deadline) return figures;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Stops the hosts first, so that they can still write their results. */
function stop(): Promise<void> {
  stopping ??= (async () => {
    const [cloud, ...hosts] = children;
    await Promise.all(hosts.map((host) => host.stop(graceMs)));
    await cloud?.stop(graceMs);
  })();
  return stopping;
}
