/**
 * Runs the payments stand-in: `node local/stripe/main.ts [--port P] [--data DIR] [--search-lag MS]`.
 * Prints its settings as KEY=value lines, then `ready`.
 */
import { parseArgs } from 'node:util';
import { portArgument } from '../portArgument.ts';
import { startPayments } from './index.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    data: { type: 'string' },
    'search-lag': { type: 'string', default: '60000' },
  },
});
const searchLagMs = Number(values['search-lag']);
if (!Number.isInteger(searchLagMs) || searchLagMs < 0) {
  console.error(
    `--search-lag: expected a whole number of milliseconds, 0 or more, got "${values['search-lag']}"`,
  );
  process.exit(2);
}
const payments = await startPayments({
  port: portArgument('--port', values.port),
  searchLagMs,
  ...(values.data === undefined ? {} : { data: values.data }),
});
console.log(`STRIPE_SECRET_KEY=${payments.secretKey}\nSTRIPE_API_BASE=${payments.baseUrl}\nready`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void payments.stop());
