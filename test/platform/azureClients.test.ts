import { expect, test } from 'vitest';
import { serviceBusConfig } from '../../local/provision.ts';
import { startServiceBus } from '../../packages/local-azure/src/serviceBus/index.ts';
import { azureClients } from '../../src/platform/azureClients.ts';
import { readSettings } from '../../src/settings/readSettings.ts';

/** Far above what a send takes (6 s), and far below the 30 s that the SDK would wait between two tries. */
const soonMs = 20_000;

test('a Service Bus connection lost during a send delays it by seconds, not by half a minute', async () => {
  await using bus = await startServiceBus({ config: serviceBusConfig });
  const clients = azureClients(
    readSettings({
      AzureWebJobsStorage: 'UseDevelopmentStorage=true',
      Cosmos: 'AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5;',
      ServiceBus: bus.connectionString,
      STRIPE_SECRET_KEY: 'sk_test_x',
      STRIPE_API_BASE: 'http://127.0.0.1:1',
    }),
  );
  const sender = clients.sender('payment-commands');
  await sender.sendMessages({ messageId: 'first', body: 1 });
  await fetch(`${bus.localAddress}/_local/faults`, {
    method: 'POST',
    body: JSON.stringify({ kind: 'drop-connection', operation: 'send' }),
  });
  const started = performance.now();
  await sender.sendMessages({ messageId: 'second', body: 2 });
  expect(performance.now() - started).toBeLessThan(soonMs);
  await clients.close();
}, 60_000);
