import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runFailingHost, startHostProcess } from '../../support/functionsHostProcess.ts';
import { noSignals } from '../../support/signals.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

test('loads a CommonJS app', async () => {
  await using host = await startHostProcess({ app: fixture('commonJsApp'), env: {} });
  expect(await (await fetch(`${host.address}/api/hello`)).text()).toBe('from CommonJS');
});

test.skipIf(noSignals)('Ctrl-C lets a running request finish, then the host exits with 0', async () => {
  await using host = await startHostProcess({ app: fixture('commonJsApp'), env: {} });
  const slow = fetch(`${host.address}/api/hello?ms=300`);
  await host.line(/begins/);
  host.kill('SIGINT');
  expect(await (await slow).text()).toBe('from CommonJS');
  expect(await host.exited).toBe(0);
});

test('an entry point that throws: the host prints the error and exits with 1', async () => {
  const { code, output } = await runFailingHost({ app: fixture('brokenApp'), env: {} });
  expect(code).toBe(1);
  expect(output).toMatch(/these settings are wrong: STRIPE_SECRET_KEY is missing, SHARDS is not a number/);
});

test('with --stay-up the host runs without a function, as in Azure: 404 everywhere, the reason in the log', async () => {
  await using host = await startHostProcess({ app: fixture('brokenApp'), env: {}, args: ['--stay-up'] });
  const read = (path: string) => fetch(`${host.address}/${path}`);
  expect((await read('api/ops/health')).status).toBe(404);
  expect(await (await read('admin/host/status')).json()).toMatchObject({ state: 'Running' });
  expect(await (await read('admin/functions')).json()).toEqual([]);
  await host.line(/ info .*these settings are wrong: STRIPE_SECRET_KEY is missing/);
});

test('names everything unsupported at once', async () => {
  const { code, output } = await runFailingHost({ app: fixture('unsupportedApp'), env: {} });
  expect(code).toBe(1);
  expect(output.split('\n').filter((line) => line !== '')).toEqual([
    'function onBlob: the trigger type blobTrigger is not supported',
    'function onTopic: serviceBusTrigger: queueName: only queues are supported, not topics',
    'function onSession: serviceBusTrigger: isSessionsEnabled: sessions are not supported',
    'function onMany: serviceBusTrigger: cardinality: cardinality "many" is not supported',
    'function writesToBlob: the output binding type blob is not supported',
    'function writesToTopic: serviceBus: only queues are supported, not topics',
    'function retries: retry policies are not supported',
    'function unset: the setting NOT_SET (%NOT_SET%) is not set',
  ]);
});
