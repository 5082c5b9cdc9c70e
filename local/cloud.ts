import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startAzurite } from './azurite.ts';
import { startCosmos } from './cosmos/index.ts';
import { onStopAsked } from './onStopAsked.ts';
import { portArgument } from './portArgument.ts';
import { provision } from './provision.ts';
import { startServiceBus } from './serviceBus/index.ts';
import { startPayments } from './stripe/index.ts';
import { trafficArguments } from './stripe/trafficArguments.ts';
import { wholeNumberArgument } from './wholeNumberArgument.ts';

const usage = `npm run cloud -- [options]
  --data DIR                 keep data under DIR (default: in memory)
  --env-file FILE            also write the settings here (default .local/env)
  --service-bus-config FILE  queues, in the official emulator's Config.json format
  --cosmos-port P  --service-bus-port P  --payments-port P
  --azurite-port P           blob port; queue and table take the next two. 0, the default: any port
  --cosmos-partitions N      partition key ranges of each container (default 3, as a grown container has
                             several; 1: queries over all partitions need no merging)
  --payments-rate N          payment calls per second to each endpoint other than search; more get 429
  --payments-search-rate N   payment searches per second; more get 429
  --payments-account-rate N  payment calls per second to all endpoints together; more get 429. Default of
                             each rate: no limit
  --payments-latency MS      median milliseconds a payment call takes (default 0)`;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    'env-file': { type: 'string', default: '.local/env' },
    'service-bus-config': { type: 'string' },
    'cosmos-port': { type: 'string', default: '0' },
    'cosmos-partitions': { type: 'string', default: '3' },
    'service-bus-port': { type: 'string', default: '0' },
    'payments-port': { type: 'string', default: '0' },
    'azurite-port': { type: 'string', default: '0' },
    'payments-rate': { type: 'string' },
    'payments-search-rate': { type: 'string' },
    'payments-account-rate': { type: 'string' },
    'payments-latency': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

/** `PAYMENT_RATE` if the payment provider has no limit: more than one machine can pay. */
const unlimitedRate = 5_000;

const folder = (name: string) => (values.data === undefined ? {} : { data: join(values.data, name) });
const config = values['service-bus-config'];
const traffic = trafficArguments(values, 'payments-');
const [azurite, cosmos, serviceBus, payments] = await Promise.all([
  startAzurite({ ...folder('azurite'), port: portArgument('--azurite-port', values['azurite-port']) }),
  startCosmos({
    ...folder('cosmos'),
    port: portArgument('--cosmos-port', values['cosmos-port']),
    partitions: wholeNumberArgument('--cosmos-partitions', values['cosmos-partitions'], { min: 1, max: 100 }),
  }),
  startServiceBus({
    ...folder('service-bus'),
    port: portArgument('--service-bus-port', values['service-bus-port']),
    ...(config === undefined ? {} : { config }),
  }),
  startPayments({
    ...folder('payments'),
    port: portArgument('--payments-port', values['payments-port']),
    ...traffic,
  }),
]);
await provision({ storage: azurite.connectionString, cosmos: cosmos.connectionString });

const settings = {
  AzureWebJobsStorage: azurite.connectionString,
  Cosmos: cosmos.connectionString,
  ServiceBus: serviceBus.connectionString,
  STRIPE_SECRET_KEY: payments.secretKey,
  STRIPE_API_BASE: payments.baseUrl,
  PAYMENT_RATE: `${traffic.rate ?? unlimitedRate}`,
  SERVICE_BUS_LOCAL: serviceBus.localAddress,
};
const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
mkdirSync(dirname(values['env-file']), { recursive: true });
writeFileSync(values['env-file'], `${lines.join('\n')}\n`);
console.log(`${lines.join('\n')}\nready`);

onStopAsked(() => void stop());
void azurite.exited.then(() => stop('Azurite has ended'));

let stopping = false;
async function stop(reason?: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  if (reason !== undefined) console.error(`${reason}: stopping the local cloud`);
  await Promise.allSettled([cosmos.stop(), serviceBus.stop(), payments.stop(), azurite.stop()]);
  process.exit(reason === undefined ? 0 : 1);
}
