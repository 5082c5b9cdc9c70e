/** Runs the payments stand-in. Prints its settings as KEY=value lines, then `ready`. */
import { parseArgs } from 'node:util';
import { portArgument } from '../../packages/local-azure/src/portArgument.ts';
import { wholeNumberArgument } from '../../packages/local-azure/src/wholeNumberArgument.ts';
import { startPayments } from './index.ts';
import { trafficArguments } from './trafficArguments.ts';

const usage = `npm run cloud -- payments [options]
  --port P          port; 0, the default: any
  --data DIR        keep data under DIR (default: in memory)
  --search-lag MS   milliseconds until search shows a change (default 60000)
  --rate N          calls per second to each endpoint other than search; more get 429 (default: no limit)
  --search-rate N   searches per second; more get 429 (default: no limit)
  --account-rate N  calls per second to all endpoints together; more get 429 (default: no limit)
  --latency MS      median milliseconds a call takes (default 0)
  --webhook-url URL --webhook-secret SECRET
                    deliver events there, signed with the secret (default: as set last; at first nowhere)
  --account ID      id of the Stripe account (default acct_local)`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    data: { type: 'string' },
    'search-lag': { type: 'string', default: '60000' },
    rate: { type: 'string' },
    'search-rate': { type: 'string' },
    'account-rate': { type: 'string' },
    latency: { type: 'string' },
    'webhook-url': { type: 'string' },
    'webhook-secret': { type: 'string' },
    account: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const { 'webhook-url': url, 'webhook-secret': secret, account } = values;
if ((url === undefined) !== (secret === undefined) || (url !== undefined && !URL.canParse(url))) {
  console.error('--webhook-url and --webhook-secret: expected a URL and its secret, both or neither');
  process.exit(2);
}
const payments = await startPayments({
  port: portArgument('--port', values.port),
  searchLagMs: wholeNumberArgument('--search-lag', values['search-lag'], { min: 0, of: 'milliseconds' }),
  ...trafficArguments(values),
  ...(values.data === undefined ? {} : { data: values.data }),
  ...(url === undefined || secret === undefined ? {} : { webhook: { url, secret } }),
  ...(account === undefined ? {} : { account }),
});
console.log(`STRIPE_SECRET_KEY=${payments.secretKey}\nSTRIPE_API_BASE=${payments.baseUrl}\nready`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void payments.stop());
