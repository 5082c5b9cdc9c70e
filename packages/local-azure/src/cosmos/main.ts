import { parseArgs } from 'node:util';
import { portArgument } from '../portArgument.ts';
import { wholeNumberArgument } from '../wholeNumberArgument.ts';
import { startCosmos } from './index.ts';

/** Runs the Cosmos stand-in alone: `node packages/local-azure/src/cosmos/main.ts [--port P] [--data DIR] [--key BASE64] [--partitions N]`. */
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8081' },
    data: { type: 'string' },
    key: { type: 'string' },
    partitions: { type: 'string' },
  },
});
const cosmos = await startCosmos({
  port: portArgument('--port', values.port),
  ...(values.data === undefined ? {} : { data: values.data }),
  ...(values.key === undefined ? {} : { key: values.key }),
  ...(values.partitions === undefined
    ? {}
    : { partitions: wholeNumberArgument('--partitions', values.partitions, { min: 1, max: 100 }) }),
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    cosmos.stop().catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  });
}
console.log(`Cosmos=${cosmos.connectionString}`);
console.log('ready');
