import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { calls } from '../../src/ops/calls.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { httpRoutes } from '../support/httpRoutes.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { signedIn } from '../support/opsForTests.ts';

const key = 'key-of-these-tests';
const app = new URL('../../', import.meta.url).pathname;

describe('every route, for every kind of caller', () => {
  const stack = new AsyncDisposableStack();
  let byKey: HostProcess;
  let bySignIn: HostProcess;
  beforeAll(async () => {
    const cloud = stack.use(await startLocalCloud());
    const start = (env: Record<string, string>) =>
      startHostProcess({
        app,
        args: ['--enable-auth'],
        env: { ...settingsFor(cloud), FUNCTIONS_MASTER_KEY: key, INVOICE_SCHEDULE: '0 0 0 1 1 *', ...env },
      });
    byKey = stack.use(await start({ INSTANCE_ID: 'by-key' }));
    bySignIn = stack.use(await start({ INSTANCE_ID: 'by-sign-in', WEBSITE_AUTH_ENABLED: 'True' }));
  }, 90_000);
  afterAll(() => stack.disposeAsync());

  async function statusOf(
    host: HostProcess,
    { method, route }: { method: string; route: string },
    headers: Record<string, string>,
  ): Promise<number> {
    const response = await fetch(`${host.address}/api/${route.replace('{id}', 'none')}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(method === 'GET' ? {} : { body: '{"nothing": true}' }),
    });
    await response.body?.cancel();
    return response.status;
  }
  const withKey = { 'x-functions-key': key };

  test.each(Object.values(calls).map((call) => [`${call.method} ${call.route}`, call] as const))(
    '%s',
    { timeout: 60_000 },
    async (_, call) => {
      const reads = call.role === 'ops.read';
      const answered = (status: number) => ![401, 403].includes(status);
      expect(await statusOf(byKey, call, {})).toBe(401);
      expect(await statusOf(bySignIn, call, signedIn('ada', 'ops.write'))).toBe(401);
      expect(answered(await statusOf(byKey, call, withKey))).toBe(true);
      const forged = { ...withKey, ...signedIn('ceo@example.com') };
      expect(answered(await statusOf(byKey, call, forged))).toBe(true);
      const asReader = await statusOf(bySignIn, call, { ...withKey, ...signedIn('ada', 'ops.read') });
      expect(reads ? answered(asReader) : asReader).toBe(reads ? true : 403);
      const asWriter = await statusOf(bySignIn, call, { ...withKey, ...signedIn('ada', 'ops.write') });
      expect(answered(asWriter)).toBe(true);
      expect(await statusOf(bySignIn, call, { ...withKey, ...signedIn('ada') })).toBe(403);
    },
  );

  test('two routes take anybody: the dashboard’s page, and events, which are signed', async () => {
    const open = httpRoutes().filter((route) => route.open);
    expect(open.map(({ path }) => path)).toEqual(['payments/events', 'ops/ui/{*path}']);
    expect((await fetch(`${byKey.address}/api/payments/events`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${byKey.address}/api/ops/ui`)).status).not.toBe(401);
  });
});
