/**
 * Pays one invoice in an app folder, whose `src/payonce.ts` is that of a guide, on the settings in the environment. The
 * invoice is in the store afterwards.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HttpRequest } from '@azure/functions';
import { ServiceBusClient } from '@azure/service-bus';
import type { App } from '../../src/app.ts';
import { serviceBusQueues } from '../../src/platform/azureNames.ts';

const [folder = ''] = process.argv.slice(2);
const { payonce, stopPayonce } = (await import(pathToFileURL(join(folder, 'src', 'payonce.ts')).href)) as {
  payonce: App;
  stopPayonce: () => Promise<void>;
};
const invoice = {
  id: 'inv-1',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2026-01-01T00:00:00Z',
  paymentMethod: 'card_1',
};
await payonce.ops.importInvoices(
  new HttpRequest({
    url: 'http://localhost/api/ops/invoices',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: { string: JSON.stringify([invoice]) },
  }),
);
await payonce.processInvoices();
const bus = new ServiceBusClient(process.env.ServiceBus ?? '');
const receiver = bus.createReceiver(serviceBusQueues.paymentCommands, { receiveMode: 'receiveAndDelete' });
const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 20_000 });
await payonce.executePayments(message?.body);
await bus.close();
await stopPayonce();
