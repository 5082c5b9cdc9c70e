/** Runs the Cosmos stand-in alone. Prints its setting as a KEY=value line, then `ready`. */
import { parseArgs } from 'node:util';
import { exitFor, orTaken } from '../failure.ts';
import { onStopAsked } from '../onStopAsked.ts';
import { portArgument } from '../portArgument.ts';
import { wholeNumberArgument } from '../wholeNumberArgument.ts';
import { startCosmos } from './index.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8081' },
      data: { type: 'string' },
      key: { type: 'string' },
      partitions: { type: 'string', default: '1' },
    },
  });
  const port = portArgument('--port', values.port);
  const cosmos = await orTaken(
    '--port',
    port,
    startCosmos({
      port,
      partitions: wholeNumberArgument('--partitions', values.partitions, { min: 1, max: 100 }),
      ...(values.data === undefined ? {} : { data: values.data }),
      ...(values.key === undefined ? {} : { key: values.key }),
    }),
  );
  onStopAsked(() => void cosmos.stop().then(() => process.exit(0), exitFor));
  console.log(`Cosmos=${cosmos.connectionString}`);
  console.log('ready');
}

await main().catch(exitFor);
