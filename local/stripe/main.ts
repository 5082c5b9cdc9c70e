import { parseArgs } from 'node:util';
import { portArgument } from '../portArgument.ts';
import { startPayments } from './index.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, data: { type: 'string' } },
});
const payments = await startPayments({
  port: portArgument('--port', values.port),
  ...(values.data === undefined ? {} : { data: values.data }),
});
console.log(`STRIPE_SECRET_KEY=${payments.secretKey}\nSTRIPE_API_BASE=${payments.baseUrl}\nready`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void payments.stop());
