import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';
import { noSignals } from '../../../../test/support/signals.ts';

const app = fileURLToPath(new URL('fixtures/lifecycleApp', import.meta.url));

function startApp(env: Record<string, string> = {}): Promise<HostProcess> {
  return startHostProcess({
    app,
    args: ['--no-timer-singleton'],
    env: { AzureWebJobsStorage: inject('azurite'), HOOK_MS: '0', ...env },
  });
}

const call = (host: HostProcess, path: string) => fetch(`${host.address}/api/${path}`);
const pidOf = async (host: HostProcess): Promise<unknown> => (await call(host, 'pid')).json();

/** When each of these lines was printed by the app, in milliseconds since the epoch. */
function times(host: HostProcess, what: string): number[] {
  return host.lines.flatMap((line) => {
    const [, at] = new RegExp(`SEEN ${what} (\\d+)`).exec(line) ?? [];
    return at === undefined ? [] : [Number(at)];
  });
}

test('a worker that dies takes its calls along, and another one is started', async () => {
  await using host = await startApp();
  const first = await pidOf(host);
  const slow = call(host, 'slow?ms=60000');
  await host.line(/SEEN slow/);
  expect((await call(host, 'die')).status).toBe(500);
  expect((await slow).status).toBe(500);
  const second = await pidOf(host);
  expect(second).not.toBe(first);
  expect(host.lines.some((line) => line.includes('the worker ended with code 3'))).toBe(true);
});

test('a function that takes too long ends its worker, with everything that runs there', async () => {
  await using host = await startApp({ AzureFunctionsJobHost__functionTimeout: '00:00:02' });
  const first = await pidOf(host);
  const tooSlow = call(host, 'slow?ms=60000');
  await host.line(/SEEN slow/);
  expect((await tooSlow).status).toBe(500);
  expect(await pidOf(host)).not.toBe(first);
  expect(host.lines.some((line) => /functionTimeout of 2000 ms exceeded/.test(line))).toBe(true);
});

test.skipIf(noSignals)(
  'SIGTERM: for ten seconds everything goes on, then the app is told, and five seconds later it is ended',
  { timeout: 60_000 },
  async () => {
    await using host = await startApp({ HOOK_MS: '60000' });
    await host.line(/SEEN tick/);
    const signalled = Date.now();
    host.kill('SIGTERM');
    expect((await call(host, 'slow?ms=0')).status).toBe(200);
    expect(await host.exited).toBe(0);
    const ended = Date.now();
    const [told = 0, ...more] = times(host, 'told');
    expect(more).toEqual([]);
    expect(told - signalled).toBeGreaterThanOrEqual(9_900);
    expect(times(host, 'tick').filter((at) => at > signalled).length).toBeGreaterThan(3);
    expect(times(host, 'hook done')).toEqual([]);
    expect(ended - told).toBeGreaterThanOrEqual(4_900);
  },
);

test.skipIf(noSignals)(
  'the host ends once the hook is done: calls in flight are cut off',
  { timeout: 60_000 },
  async () => {
    await using host = await startApp({ HOOK_MS: '100' });
    const cutOff = call(host, 'slow?ms=60000').then(
      ({ status }) => status,
      () => 'broken off',
    );
    await host.line(/SEEN slow/);
    host.kill('SIGTERM');
    expect(await host.exited).toBe(0);
    expect(times(host, 'hook done')).toHaveLength(1);
    expect(await cutOff).not.toBe(200);
  },
);
