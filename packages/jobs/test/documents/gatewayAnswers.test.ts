import { CosmosClient } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { startFaultProxy } from '../../../../test/support/faultProxy.ts';
import { payonceCosmos } from '../../../../test/support/payonceCosmos.ts';
import { fromCosmos } from '../../src/documents/cosmosDocuments.ts';
import { StoreAway } from '../../src/documents/documentStore.ts';

const failureOf = (request: () => Promise<unknown>) => fromCosmos(request).catch((error: unknown) => error);

test('a gateway that answers 503 without a body counts as a store that is away', async () => {
  await using cosmos = await payonceCosmos();
  const target = /AccountEndpoint=(http:\/\/[^/;]+)/.exec(cosmos.connectionString)?.[1] ?? '';
  let away = false;
  await using gateway = await startFaultProxy({
    target,
    fault: () => (away ? { kind: 'status', status: 503 } : { kind: 'none' }),
  });
  const client = new CosmosClient(cosmos.connectionString.replace(target, gateway.origin));
  const item = client.database('payonce').container('invoices').item('a', '00');
  await item.read();
  away = true;
  const failure = await failureOf(() => item.read());
  client.dispose();
  expect(failure).toBeInstanceOf(StoreAway);
  expect(failure).toMatchObject({ reason: 'noAnswer' });
});

test('so does an answer that is a page instead of JSON', async () => {
  const failure = await failureOf(async () => JSON.parse('<html>503</html>') as unknown);
  expect(failure).toMatchObject({ name: 'StoreAway', reason: 'noAnswer' });
});

test('a bug in the code around a request stays what it is', async () => {
  const failure = await failureOf(async () => (undefined as unknown as { x: string }).x);
  expect(failure).toBeInstanceOf(TypeError);
});
