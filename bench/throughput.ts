/**
 * Invoices paid per second and Cosmos requests per invoice, from claim to paid: the app on one host, compared
 * with the same steps one by one on the plain SDKs, against the same stand-ins in one run.
 *
 *   npm run bench -- [--invoices N] [--one-by-one N]
 *
 * Or the time per invoice with few and with many due invoices, on one host in one run. A warm-up pays as many
 * as the few first:
 *
 *   npm run bench -- --scale [--few N] [--many N]
 *
 * The exit code is 1 if requests per invoice exceed the limit. Times are only printed: they depend on the
 * machine as much as on the app.
 */
import { parseArgs } from 'node:util';
import { ServiceBusClient } from '@azure/service-bus';
import { serviceBusQueues } from '../src/platform/azureNames.ts';
import { oneByOne } from './oneByOne.ts';
import { type Measured, type PayingApp, startPayingApp } from './payingApp.ts';

/** Maximum Cosmos requests per invoice, without faults. */
const requestsLimit = 0.3;
/** The limit applies from this many invoices. With fewer, batches are too small: each shard has its own. */
const limitFrom = 1_000;
/** Maximum ratio of the time per invoice with many invoices to the time with few. */
const scaleLimit = 1.2;

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
const measured = values.scale ? await scale(app) : await compareWithOneByOne(app);
for (const { count, cosmosRequests } of measured) {
  if (count < limitFrom || cosmosRequests / count <= requestsLimit) continue;
  console.log(`${count} invoices: more than ${requestsLimit} Cosmos requests per invoice`);
  process.exitCode = 1;
}

async function compareWithOneByOne({ clients, settings, ...app }: PayingApp): Promise<Measured[]> {
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
  console.log(`ratio: ${ratio.toFixed(1)} times as fast; ${fast.charges} charges for ${fast.count} invoices`);
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
    `with ${many} invoices each takes ${ratio.toFixed(2)} times as long as with ${few}: ` +
      `${ratio <= scaleLimit ? 'within' : 'ABOVE'} the limit of ${scaleLimit}`,
  );
  return [ofFew, ofMany];
}

/** Drains the queue: the baseline's messages are not payment batches and must not keep the app busy. */
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
