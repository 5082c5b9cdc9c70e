/**
 * Invoices paid per second and Cosmos requests per invoice, from claim to paid: the app on one host, beside the same
 * chain done one by one with the plain SDKs, on the same stand-ins in one run.
 *
 *   npm run bench -- [--invoices N] [--one-by-one N]
 *
 * Or the time per invoice of few and of many due invoices, on one host in one run, after as many as the few have warmed
 * it up:
 *
 *   npm run bench -- --scale [--few N] [--many N]
 *
 * The exit code is 1 above the bar for requests. Times are printed only: they are the machine's as much as the app's.
 */
import { parseArgs } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { serviceBusQueues } from '../src/platform/azureNames.ts';
import { oneByOne } from './oneByOne.ts';
import { type Measured, type PayingApp, startPayingApp } from './payingApp.ts';

/** Cosmos requests per invoice, without faults. */
const requestsBar = 0.3;
/** Fewer invoices than these make batches too small for the bar: each shard has its own. */
const barFrom = 1_000;
/** How much longer each of many invoices may take than each of few. */
const scaleBar = 1.2;

const { values } = parseArgs({
  options: {
    invoices: { type: 'string', default: '10000' },
    'one-by-one': { type: 'string', default: '300' },
    scale: { type: 'boolean', default: false },
    few: { type: 'string', default: '1000' },
    many: { type: 'string', default: '100000' },
  },
});
const counts = [values.invoices, values['one-by-one'], values.few, values.many].map(Number);
const [invoices = 0, baseline = 0, few = 0, many = 0] = counts;
if (!counts.every((count) => Number.isInteger(count) && count > 0)) {
  console.error('npm run bench -- [--invoices N] [--one-by-one N] | --scale [--few N] [--many N]');
  process.exit(2);
}

await using app = await startPayingApp();
const measured = values.scale ? await scale(app) : await besideOneByOne(app);
for (const { count, cosmosRequests } of measured) {
  if (count < barFrom || cosmosRequests / count <= requestsBar) continue;
  console.log(`${count} invoices: more than ${requestsBar} Cosmos requests per invoice`);
  process.exitCode = 1;
}

async function besideOneByOne({ clients, settings, ...app }: PayingApp): Promise<Measured[]> {
  await app.importDue('one', baseline);
  const before = await app.cosmosRequests();
  const seconds = await oneByOne({ clients, settings, prefix: 'one', count: baseline });
  const slow = { count: baseline, seconds, cosmosRequests: (await app.cosmosRequests()) - before };
  print('one by one', slow);
  await emptyQueue(app.serviceBus, baseline);

  await app.importDue('many', invoices);
  await app.startHost();
  const fast = await app.payDue(invoices);
  print('payonce', fast);
  const ratio = msEach(slow) / msEach(fast);
  console.log(`ratio: ${ratio.toFixed(1)} times as fast; charges ${fast.charges} for ${fast.count} invoices`);
  return [fast];
}

async function scale(app: PayingApp): Promise<Measured[]> {
  await app.startHost();
  const pay = async (name: string, count: number) => {
    await app.importDue(name, count);
    const paid = await app.payDue(count);
    print(name, paid);
    return paid;
  };
  await pay('warm-up', few);
  const ofFew = await pay('few', few);
  const ofMany = await pay('many', many);
  const ratio = msEach(ofMany) / msEach(ofFew);
  console.log(
    `each of ${many} takes ${ratio.toFixed(2)} times as long as each of ${few}: ` +
      `${ratio <= scaleBar ? 'within' : 'ABOVE'} the bar of ${scaleBar}`,
  );
  return [ofFew, ofMany];
}

/** The baseline's messages are not payment batches: they must not occupy the app. */
async function emptyQueue(serviceBus: string, count: number): Promise<void> {
  const client = new ServiceBusClient(serviceBus);
  const receiver = client.createReceiver(serviceBusQueues.paymentCommands, {
    receiveMode: 'receiveAndDelete',
  });
  let left = count;
  while (left > 0) left -= (await receiver.receiveMessages(left, { maxWaitTimeInMs: 5_000 })).length;
  await client.close();
}

function print(name: string, measured: Omit<Measured, 'charges'>): void {
  const { count, seconds, cosmosRequests } = measured;
  console.log(
    `${name.padEnd(12)} ${count} invoices in ${seconds.toFixed(2)} s: ${(count / seconds).toFixed(0)} per second, ` +
      `${msEach(measured).toFixed(2)} ms and ${(cosmosRequests / count).toFixed(3)} Cosmos requests per invoice`,
  );
}

function msEach({ seconds, count }: Pick<Measured, 'seconds' | 'count'>): number {
  return (seconds * 1000) / count;
}
