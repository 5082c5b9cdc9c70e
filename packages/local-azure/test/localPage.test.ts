import { CosmosClient } from '@azure/cosmos';
import { ServiceBusClient } from '@azure/service-bus';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, openBrowser } from '../../../test/browser/support/openBrowser.ts';
import { type Cosmos, startCosmos } from '../src/cosmos/index.ts';
import { type ServiceBus, startServiceBus } from '../src/serviceBus/index.ts';

const stack = new AsyncDisposableStack();
let cosmos: Cosmos;
let bus: ServiceBus;

beforeAll(async () => {
  cosmos = stack.use(await startCosmos({ partitions: 3 }));
  const client = new CosmosClient(cosmos.connectionString);
  const { database } = await client.databases.create({ id: 'shop' });
  const { container } = await database.containers.create({ id: 'orders', partitionKey: '/customer' });
  for (const n of [1, 2, 3, 4])
    await container.items.create({ id: `${n}`, customer: `c${n}`, total: n, note: '<b>&' });
  client.dispose();

  const Subscriptions = [{ Name: 'all' }];
  const namespace = { Queues: [{ Name: 'orders' }], Topics: [{ Name: 'prices', Subscriptions }] };
  bus = stack.use(await startServiceBus({ config: { UserConfig: { Namespaces: [namespace] } } }));
  const messages = new ServiceBusClient(bus.connectionString);
  const properties = { applicationProperties: { color: 'red' }, subject: 'pay' };
  await messages.createSender('orders').sendMessages([{ body: { n: 1 }, ...properties }, { body: 'text' }]);
  await messages.createSender('prices').sendMessages({ body: Buffer.from([0xff]) });
  const receiver = messages.createReceiver('orders');
  const [first] = await receiver.receiveMessages(1);
  if (first !== undefined)
    await receiver.deadLetterMessage(first, { deadLetterReason: 'tired', deadLetterErrorDescription: 'so' });
  await messages.close();
});
afterAll(() => stack.disposeAsync());

const read = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, body: await answer.json() };
};
const query = (body: object) =>
  read(`${cosmos.endpoint}_local/query`, { method: 'POST', body: JSON.stringify(body) });

describe('as JSON', () => {
  test('databases with their containers, and a query over all partitions', async () => {
    expect((await read(`${cosmos.endpoint}_local/databases`)).body).toEqual([
      { id: 'shop', containers: [{ id: 'orders', partitionKey: ['/customer'], items: 4 }] },
    ]);
    const asked = { database: 'shop', container: 'orders' };
    const sorted = 'SELECT TOP 2 VALUE c.total FROM c WHERE c.total > @least ORDER BY c.total DESC';
    expect(await query({ ...asked, query: sorted, parameters: [{ name: '@least', value: 1 }] })).toEqual({
      status: 200,
      body: { items: [4, 3] },
    });
    expect((await query({ ...asked, query: 'SELECT' })).status).toBe(400);
    expect((await query({ ...asked, container: 'none', query: 'SELECT * FROM c' })).status).toBe(404);
    expect((await query({ query: 'SELECT * FROM c' })).status).toBe(400);
  });

  test('the messages of a queue, a dead-letter queue, a subscription', async () => {
    const messagesOf = async (entity: string) =>
      (await read(`${bus.localAddress}/_local/messages?entity=${encodeURIComponent(entity)}`)).body;
    expect(await messagesOf('orders')).toMatchObject([{ state: 'ready', body: 'text', deliveryCount: 0 }]);
    expect(await messagesOf('orders/$DeadLetterQueue')).toMatchObject([
      {
        body: { n: 1 },
        subject: 'pay',
        applicationProperties: { color: 'red' },
        deadLetter: { reason: 'tired', description: 'so', source: 'orders' },
      },
    ]);
    expect(await messagesOf('prices/Subscriptions/all')).toMatchObject([{ body: { base64: '/w==' } }]);
    expect(await messagesOf('none')).toEqual({ error: 'there is no entity "none"' });
  });
});

describe.skipIf(!hasBrowser())('as a page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  async function open(address: string): Promise<{ page: Page; problems: string[] }> {
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    await page.goto(`${address}_local/`);
    return { page, problems };
  }

  test('Cosmos: containers, a query, and a fault that is armed and cleared', async () => {
    const { page, problems } = await open(cosmos.endpoint);
    await page.getByRole('row', { name: 'shop orders /customer 4' }).waitFor();
    await page.getByLabel('SQL').fill("SELECT c.id, c.note FROM c WHERE c.id = '2'");
    await page.getByRole('button', { name: 'Run' }).click();
    await page.locator('#result').getByText('"<b>&"').waitFor();
    expect(JSON.parse((await page.locator('#result').textContent()) ?? '')).toEqual([
      { id: '2', note: '<b>&' },
    ]);
    await page.getByLabel('SQL').fill('SELECT nothing');
    await page.getByRole('button', { name: 'Run' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/\S/);
    await page.getByRole('button', { name: 'Arm' }).click();
    await page.locator('#faults').getByText('"429"').waitFor();
    await page.getByRole('button', { name: 'Clear all' }).click();
    await expect.poll(() => page.locator('#faults').textContent()).toBe('[]');
    await page.getByText(/^\d+\.\d requests a second$/).waitFor();
    expect(problems).toEqual([]);
  });

  test('Service Bus: counts, messages and dead letters', async () => {
    const { page, problems } = await open(`${bus.localAddress}/`);
    const row = page.getByRole('row', { name: /^orders 1 0 0 0 1 2 0$/ });
    await row.getByRole('button', { name: 'orders' }).click();
    await page.locator('#messages').getByText('"text"').waitFor();
    await row.getByRole('button', { name: '1' }).click();
    await page.locator('#messages').getByText('"tired"').waitFor();
    await page.getByRole('row', { name: /^prices\/Subscriptions\/all 1/ }).waitFor();
    expect(problems).toEqual([]);
  });
});
