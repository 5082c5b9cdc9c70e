/** Runs the Service Bus stand-in. Prints its settings as KEY=value lines, then `ready`. */
import { parseArgs } from 'node:util';
import { exitFor, orTaken } from '../failure.ts';
import { onStopAsked } from '../onStopAsked.ts';
import { portArgument } from '../portArgument.ts';
import { startServiceBus } from './index.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'http-port': { type: 'string', default: '0' },
      data: { type: 'string' },
      config: { type: 'string' },
      create: { type: 'boolean', default: false },
    },
  });
  const port = portArgument('--port', values.port);
  const serviceBus = await orTaken(
    '--port or --http-port',
    port,
    startServiceBus({
      port,
      create: values.create,
      httpPort: portArgument('--http-port', values['http-port']),
      ...(values.data === undefined ? {} : { data: values.data }),
      ...(values.config === undefined ? {} : { config: values.config }),
    }),
  );
  console.log(`ServiceBus=${serviceBus.connectionString}`);
  console.log(`SERVICE_BUS_LOCAL=${serviceBus.localAddress}`);
  console.log('ready');
  onStopAsked(() => void serviceBus.stop().then(() => process.exit(0), exitFor));
}

await main().catch(exitFor);
