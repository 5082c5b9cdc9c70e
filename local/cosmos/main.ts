import { parseArgs } from 'node:util';
import { startCosmos } from './index.ts';

/** Runs the Cosmos stand-in alone: `node local/cosmos/main.ts [--port P] [--data DIR] [--key BASE64]`. */
const { values } = parseArgs({
  options: { port: { type: 'string', default: '8081' }, data: { type: 'string' }, key: { type: 'string' } },
});
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65535)
  throw new Error(`--port must be an integer from 0 to 65535, not ${values.port}`);

const cosmos = await startCosmos({
  port,
  ...(values.data === undefined ? {} : { data: values.data }),
  ...(values.key === undefined ? {} : { key: values.key }),
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
