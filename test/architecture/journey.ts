/**
 * Prints, as JSON, the files of src that one invoice passes through from its import to its receipt: every file of which a
 * function is called on the way. A process of its own, so that nothing but the app is measured.
 */
import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { HttpRequest } from '@azure/functions';
import { ServiceBusClient } from '@azure/service-bus';
import { createApp } from '../../src/app.ts';
import { queues, serviceBusQueues } from '../../src/platform/azureNames.ts';
import { readSettings } from '../../src/settings/readSettings.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';

const cloud = await startLocalCloud();
const app = createApp(readSettings(settingsFor(cloud)));
const bus = new ServiceBusClient(cloud.serviceBus);
const receiver = bus.createReceiver(serviceBusQueues.paymentCommands, { receiveMode: 'receiveAndDelete' });

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const outcome = await pay('inv-1');

const { result } = await session.post('Profiler.takePreciseCoverage');
const files = result
  .filter(({ url }) => url.includes('/src/') && !url.includes('node_modules'))
  .filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  )
  .map(({ url }) => url.replace(/^.*\/src\//, ''))
  .toSorted();
console.log(JSON.stringify({ outcome, files }));
process.exit(0);

/** From the import to the receipt; the outcome of its work item. */
async function pay(id: string): Promise<string> {
  const invoice = {
    id,
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2026-01-01T00:00:00Z',
    paymentMethod: 'pm_card_visa',
  };
  await app.ops.importInvoices(
    new HttpRequest({
      url: 'http://localhost/api/ops/invoices',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: { string: JSON.stringify([invoice]) },
    }),
  );
  await app.processInvoices();
  const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 10_000 });
  await app.executePayments(message?.body);
  return app.processWorkItem(await nextWorkItem());
}

/** Rejects after ten seconds. */
async function nextWorkItem(): Promise<unknown> {
  const queue = cloud.queues.getQueueClient(queues.workItems);
  for (let tries = 0; tries < 100; tries++) {
    const [item] = (await queue.receiveMessages()).receivedMessageItems;
    if (item !== undefined) return JSON.parse(Buffer.from(item.messageText, 'base64').toString()) as unknown;
    await delay(100);
  }
  throw new Error('no receipt was ordered');
}
