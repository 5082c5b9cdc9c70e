import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitFor, orTaken } from '../packages/local-azure/src/failure.ts';
import { onStopAsked } from '../packages/local-azure/src/onStopAsked.ts';
import { portArgument } from '../packages/local-azure/src/portArgument.ts';
import { startServices } from '../packages/local-azure/src/services.ts';
import { wholeNumberArgument } from '../packages/local-azure/src/wholeNumberArgument.ts';
import { provision, serviceBusConfig } from './provision.ts';
import { startPayments } from './stripe/index.ts';
import { trafficArguments } from './stripe/trafficArguments.ts';

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

const traffic = trafficArguments(values, 'payments-');
const { services, payments } = await start().catch(exitFor);
const { azurite, cosmos } = services;
await provision({ storage: azurite.connectionString, cosmos: cosmos.connectionString });

const settings = {
  ...services.settings,
  STRIPE_SECRET_KEY: payments.secretKey,
  STRIPE_API_BASE: payments.baseUrl,
  PAYMENT_RATE: `${traffic.rate ?? unlimitedRate}`,
};
const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
mkdirSync(dirname(values['env-file']), { recursive: true });
writeFileSync(values['env-file'], `${lines.join('\n')}\n`);
console.log(`${lines.join('\n')}\nready`);

onStopAsked(() => void stop());
void azurite.exited.then(() => stop('Azurite has ended'));

async function start() {
  const { data } = values;
  const partitions = values['cosmos-partitions'];
  const paymentsPort = portArgument('--payments-port', values['payments-port']);
  const [started, provider] = await Promise.all([
    startServices({
      data,
      ports: {
        cosmos: portArgument('--cosmos-port', values['cosmos-port']),
        serviceBus: portArgument('--service-bus-port', values['service-bus-port']),
        serviceBusHttp: 0,
        azurite: portArgument('--azurite-port', values['azurite-port']),
      },
      partitions: wholeNumberArgument('--cosmos-partitions', partitions, { min: 1, max: 100 }),
      serviceBusConfig: values['service-bus-config'] ?? serviceBusConfig,
    }),
    orTaken(
      '--payments-port',
      paymentsPort,
      startPayments({
        ...(data === undefined ? {} : { data: join(data, 'payments') }),
        port: paymentsPort,
        ...traffic,
      }),
    ),
  ]);
  return { services: started, payments: provider };
}

let stopping = false;
async function stop(reason?: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  if (reason !== undefined) console.error(`${reason}: stopping the local cloud`);
  await Promise.allSettled([services.stop(), payments.stop()]);
  process.exit(reason === undefined ? 0 : 1);
}
