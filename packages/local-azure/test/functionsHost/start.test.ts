import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { runFailingHost, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { removeFolder } from '../../../../test/support/removeFolder.ts';
import { noSignals } from '../../../../test/support/signals.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
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

test('a port that is taken is named with its option', async () => {
  const app = fixture('commonJsApp');
  await using host = await startHostProcess({ app, env: {} });
  const { port } = new URL(host.address);
  expect(await runFailingHost({ app, env: {}, args: ['--port', port] })).toEqual({
    code: 1,
    output: `port ${port} is taken: choose another with --port`,
  });
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
  const env = {
    ByIdentity__queueServiceUri: 'http://127.0.0.1:1',
    AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  };
  const { code, output } = await runFailingHost({ app: fixture('unsupportedApp'), env });
  expect(code).toBe(1);
  expect(output.split('\n').filter((line) => line !== '')).toEqual([
    'function onBlob: blobTrigger: the source "EventGrid" is not supported',
    'function onEvent: the trigger type eventGridTrigger is not supported',
    'function writesToBlob: the output binding type blob is not supported',
    'function writesEvents: the output binding type eventHub is not supported',
    'function retries: it has a retry policy, which only timers and Cosmos DB triggers can have',
    'function byIdentity: the connection ByIdentity is identity-based (ByIdentity__…); this host takes connection strings only',
    'function unset: the setting NOT_SET (%NOT_SET%) is not set',
  ]);
});

test('with --skip-unsupported it runs without them, but a setting that is missing still stops it', async () => {
  const app = fixture('unsupportedApp');
  const args = ['--skip-unsupported'];
  const { code, output } = await runFailingHost({ app, env: {}, args });
  expect(code).toBe(1);
  expect(output).toMatch(/^function unset: the setting NOT_SET \(%NOT_SET%\) is not set$/m);

  const env = {
    NOT_SET: 'orders',
    ByIdentity__queueServiceUri: 'http://127.0.0.1:1',
    AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  };
  await using host = await startHostProcess({ app, env, args });
  expect((await fetch(`${host.address}/api/fine`)).status).toBe(200);
  await host.line(
    / warn .*function onBlob is left out: blobTrigger: the source "EventGrid" is not supported/,
  );
  const listed = (await (await fetch(`${host.address}/admin/functions`)).json()) as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(['unset', 'fine']);
});

test('the settings of the Functions tools are read, and those of the environment win', async () => {
  const app = fixture('localSettingsApp');
  await using host = await startHostProcess({
    app,
    env: { SHOP_NAME: 'of the environment' },
    envFile: 'none',
  });
  expect(await (await fetch(`${host.address}/api/settings`)).json()).toEqual({
    SHOP_NAME: 'of the environment',
    CURRENCY: 'EUR',
  });
});

test('an env file is read instead of local.settings.json', async () => {
  await using host = await startHostProcess({ app: fixture('localSettingsApp'), env: {} });
  expect(await (await fetch(`${host.address}/api/settings`)).json()).toEqual({});
});

test('--version prints the version of the stand-ins, not that of the app', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/local-azure/package.json'), 'utf8')) as {
    version: string;
  };
  const main = join(root, 'packages/local-azure/src/functionsHost/main.ts');
  expect(execFileSync(process.execPath, [main, '--version'], { encoding: 'utf8' })).toBe(
    `@payonce/local-azure ${version}\n`,
  );
});

test('--inspect: a debugger can attach to the process of the app', async () => {
  const app = fixture('commonJsApp');
  await using host = await startHostProcess({ app, env: {}, args: ['--inspect', '0'] });
  const [, address = ''] = await host.line(/Debugger listening on ws:\/\/(127\.0\.0\.1:\d+)\//);
  const targets = (await (await fetch(`http://${address}/json/list`)).json()) as { title: string }[];
  expect(targets.map(({ title }) => title)).toEqual([expect.stringContaining('worker')]);
});

test('--watch: the host starts anew when a file of the app changes, also after one that cannot be loaded', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'watched-'));
  onTestFinished(() => removeFolder(folder));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  cpSync(fixture('commonJsApp'), folder, { recursive: true });
  const main = join(folder, 'index.js');
  const code = readFileSync(main, 'utf8');
  await using host = await startHostProcess({ app: folder, env: {}, args: ['--watch'] });
  writeFileSync(main, 'throw new Error("not finished");');
  await host.line(/not finished/);
  const printed = host.lines.length;
  writeFileSync(main, code.replace('from CommonJS', 'from the change'));
  await expect.poll(() => host.lines.slice(printed), { timeout: 20_000 }).toContain('ready');
  const address = host.lines.findLast((line) => / on http:/.test(line))?.split(' on ')[1];
  expect(await (await fetch(`${address}/api/hello`)).text()).toBe('from the change');
});
