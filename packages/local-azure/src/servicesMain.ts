/** Runs Cosmos, Service Bus and storage on the ports that people expect. Prints their settings, then `ready`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { certificateIn } from './certificate.ts';
import { exitFor } from './failure.ts';
import { onStopAsked } from './onStopAsked.ts';
import { portArgument } from './portArgument.ts';
import { type Services, startServices } from './services.ts';
import { wholeNumberArgument } from './wholeNumberArgument.ts';

const usage = `local-azure [services] [options]
  --data DIR                   keep data under DIR (default: in memory)
  --settings FILE              also write the settings here (default .local/env)
  --service-bus-config FILE    queues and topics, in the official emulator's Config.json format (default: none)
  --create                     create queues, topics and subscriptions when a client names them
  --cosmos-port P              default 8081
  --service-bus-port P         default 5672, with --tls 5671
  --service-bus-http-port P    statistics, faults and management of Service Bus; default 5300
  --azurite-port P             blob port; queue and table take the next two; default 10000, so that the connection
                               string UseDevelopmentStorage=true reaches it
  --tls                        HTTPS and AMQPS, with a certificate that is made beside that file at the first start; any
                               Entra token is accepted
  --cosmos-partitions N        partition key ranges of each container (default 3, as a grown container has several)
Port 0 is any free one.`;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    // Not `env-file`: npx would take that for an option of Node, which wants the file to exist.
    settings: { type: 'string', default: '.local/env' },
    'service-bus-config': { type: 'string' },
    'cosmos-port': { type: 'string', default: '8081' },
    'service-bus-port': { type: 'string' },
    'service-bus-http-port': { type: 'string', default: '5300' },
    'azurite-port': { type: 'string', default: '10000' },
    'cosmos-partitions': { type: 'string', default: '3' },
    create: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(usage);
else await run().catch(exitFor);

async function run(): Promise<void> {
  const partitions = values['cosmos-partitions'];
  const port = (name: 'cosmos-port' | 'service-bus-port' | 'service-bus-http-port' | 'azurite-port') =>
    portArgument(`--${name}`, values[name] ?? (values.tls ? '5671' : '5672'));
  const services = await startServices({
    data: values.data,
    ports: {
      cosmos: port('cosmos-port'),
      serviceBus: port('service-bus-port'),
      serviceBusHttp: port('service-bus-http-port'),
      azurite: port('azurite-port'),
    },
    partitions: wholeNumberArgument('--cosmos-partitions', partitions, { min: 1, max: 100 }),
    serviceBusConfig: values['service-bus-config'],
    create: values.create,
    tls: values.tls ? certificateIn(dirname(values.settings)) : undefined,
  });
  const lines = Object.entries(services.settings).map(([name, value]) => `${name}=${value}`);
  mkdirSync(dirname(values.settings), { recursive: true });
  writeFileSync(values.settings, `${lines.join('\n')}\n`);
  console.log(`${lines.join('\n')}\nready`);
  onStopAsked(() => void stop(services));
  void services.azurite.exited.then(() => stop(services, 'Azurite has ended'));
}

let stopping = false;
async function stop(services: Services, reason?: string): Promise<void> {
  if (stopping) return;
  stopping = true;
  if (reason !== undefined) console.error(`${reason}: stopping the others`);
  await services.stop();
  process.exit(reason === undefined ? 0 : 1);
}
