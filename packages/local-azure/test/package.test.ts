import { spawn } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { filesUnder } from '../../../scripts/compile.ts';
import { manifestIn, projectIn } from '../../../test/library/emptyProject.ts';
import { removeFolder } from '../../../test/support/removeFolder.ts';
import { runProgram } from '../../../test/support/runProgram.ts';

/*
 * The package as somebody else has it: compiled, in a project whose only other packages are what it depends on. Those are links to
 * the repository's own, so that the test needs no registry.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'local-azure-'));
const packed = join(out, 'local-azure');
const project = mkdtempSync(join(tmpdir(), 'local-azure-project-'));
const installed = join(project, 'node_modules', '@payonce', 'local-azure');
const program = join(installed, 'dist', 'main.js');

beforeAll(async () => {
  const { code, output } = await runProgram(join(root, 'scripts/packLocalAzure.ts'), ['--out', out]);
  if (code !== 0) throw new Error(output);
  cpSync(packed, installed, { recursive: true });
  const clients = ['@azure/cosmos', '@azure/functions', '@types/node', 'vitest'];
  for (const name of new Set([...Object.keys(manifestIn(packed).dependencies), ...clients])) {
    mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name), 'junction');
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
}, 120_000);
afterAll(async () => {
  await removeFolder(out);
  await removeFolder(project);
});

const anyPorts = ['--cosmos-port=0', '--service-bus-port=0', '--service-bus-http-port=0', '--azurite-port=0'];

/** Starts a command of the package; resolves once it is ready, with what it has printed until then, and prints later. */
async function start(args: string[], env: Record<string, string> = {}): Promise<{ printed: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill('SIGINT');
    await exited;
  });
  const said = { printed: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said.printed += chunk;
  });
  await Promise.race([exited, expect.poll(() => said.printed, { timeout: 30_000 }).toMatch(/^ready$/m)]);
  if (child.exitCode !== null) throw new Error(`it ended before it was ready:\n${said.printed}`);
  return said;
}

test('holds compiled code and declarations, and nothing of payonce', () => {
  const files = filesUnder(packed);
  expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'azurite/LICENSE']));
  expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
  expect(readdirSync(join(packed, 'dist')).filter((name) => /stripe|provision|cloud/.test(name))).toEqual([]);
  expect(filesUnder(join(packed, 'dist')).filter((file) => file.endsWith('.json'))).toEqual([]);
  const { dependencies } = manifestIn(packed);
  for (const name of [
    'stripe',
    '@payonce/leases',
    'applicationinsights',
    'sequelize',
    '@azure/cosmos',
    'azurite',
  ])
    expect(dependencies).not.toHaveProperty([name]);
});

test('the services start, and a Functions app runs on them', async () => {
  const { printed: settings } = await start(anyPorts);
  expect(settings.split('\n').map((line) => line.split('=')[0])).toEqual([
    'AzureWebJobsStorage',
    'Cosmos',
    'ServiceBus',
    'SERVICE_BUS_LOCAL',
    'ready',
    '',
  ]);
  expect(readFileSync(join(project, '.local/env'), 'utf8')).toBe(settings.replace('ready\n', ''));
  const fixtures = join(root, 'packages/local-azure/test/functionsHost/fixtures');
  cpSync(join(fixtures, 'commonJsApp'), join(project, 'app'), { recursive: true });
  const host = await start(['host', '--app', 'app', '--port', '0']);
  const address = / on (http:\S+)$/m.exec(host.printed)?.[1];
  expect(await (await fetch(`${address}/api/hello`)).text()).toBe('from CommonJS');
});

test('the app of the guide takes an order and processes it', async () => {
  const guide = readFileSync(join(root, 'packages/local-azure/README.md'), 'utf8');
  const code = /```ts\n(import \{ app, .*?)```/s.exec(guide)?.[1] ?? '';
  const [, hostJson = '', packageJson = ''] =
    /`host\.json` is `(.*?)`, `package\.json` is `(.*?)`/.exec(guide) ?? [];
  mkdirSync(join(project, 'orders/src/functions'), { recursive: true });
  writeFileSync(join(project, 'orders/host.json'), hostJson);
  writeFileSync(join(project, 'orders/package.json'), packageJson);
  writeFileSync(join(project, 'orders/src/functions/orders.ts'), code);
  await start(anyPorts);
  const host = await start(['host', '--app', 'orders', '--port', '0']);
  const address = / on (http:\S+)$/m.exec(host.printed)?.[1];
  const posted = await fetch(`${address}/api/order`, { method: 'POST', body: '{"id":"1"}' });
  expect(posted.status).toBe(202);
  await expect.poll(() => host.printed, { timeout: 20_000 }).toMatch(/shipped \{ id: '1' \}/);
}, 60_000);

test('says its version; a command or option that there is not is named', async () => {
  expect((await runProgram(program, ['--version'])).output).toMatch(
    /^@payonce\/local-azure \d+\.\d+\.\d+\s*$/,
  );
  expect(await runProgram(program, ['clowd'])).toEqual({
    code: 2,
    output: expect.stringContaining('there is no command clowd'),
  });
  expect(await runProgram(program, ['--cosmosport', '1'])).toEqual({
    code: 2,
    output: expect.stringMatching(/^Unknown option '--cosmosport'/),
  });
});

test('the test of the guide compiles and passes', async () => {
  const guide = readFileSync(join(root, 'packages/local-azure/README.md'), 'utf8');
  const code = /```ts\n(import (?:(?!```).)*startCosmos.*?)```/s.exec(guide)?.[1] ?? '';
  expect(code).toContain('startCosmos');
  const theirs = projectIn(project);
  theirs.write(new Map([['orders.test.ts', code]]));
  for (const options of [
    { module: 'node20', moduleResolution: 'node16' },
    { module: 'preserve', moduleResolution: 'bundler' },
  ] as const)
    expect(await theirs.complaints(options)).toBe('');
  expect(
    await theirs.run('node_modules/vitest/vitest.mjs', ['run', 'orders.test.ts'], { VITEST: '' }),
  ).toMatch(/1 passed/);
}, 60_000);
