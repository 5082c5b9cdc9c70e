/** Runs the Service Bus stand-in. Prints its settings as KEY=value lines, then `ready`. */
import { parseArgs } from 'node:util';
import { portArgument } from '../portArgument.ts';
import { ConfigError } from './config.ts';
import { startServiceBus } from './index.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    'http-port': { type: 'string', default: '0' },
    data: { type: 'string' },
    config: { type: 'string' },
  },
});

try {
  const serviceBus = await startServiceBus({
    port: portArgument('--port', values.port),
    httpPort: portArgument('--http-port', values['http-port']),
    ...(values.data === undefined ? {} : { data: values.data }),
    ...(values.config === undefined ? {} : { config: values.config }),
  });
  console.log(`ServiceBus=${serviceBus.connectionString}`);
  console.log(`SERVICE_BUS_LOCAL=${serviceBus.localAddress}`);
  console.log('ready');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void serviceBus.stop());
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
