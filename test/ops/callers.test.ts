import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whyNotAdmitted } from '../../src/ops/admission.ts';
import { callerOf } from '../../src/ops/caller.ts';
import { operationsOf } from '../../src/ops/openApi/operations.ts';
import { type HostProcess, startHostProcess } from '../support/functionsHostProcess.ts';
import { settingsFor, startLocalCloud } from '../support/localCloud.ts';
import { signedIn } from '../support/opsForTests.ts';

const operations = operationsOf('process-invoices');
const key = 'key-of-these-tests';
const app = new URL('../../', import.meta.url).pathname;

describe('who calls', () => {
  const caller = (headers: Record<string, string>, signIn: boolean) =>
    callerOf({ headers: new Headers(headers) }, signIn);

  test('with the platform’s sign-in, its principal names the caller and their roles', () => {
    expect(caller(signedIn('ada@example.com', 'ops.read'), true)).toEqual({
      actor: 'ada@example.com',
      roles: ['ops.read'],
    });
    expect(caller(signedIn('ada@example.com', 'ops.write'), true).roles).toEqual(['ops.read', 'ops.write']);
    expect(caller(signedIn('ada@example.com', 'invoices.admin'), true).roles).toEqual([]);
  });

  test('without it nobody can claim to be somebody: such headers are the caller’s own', () => {
    const forged = signedIn('ceo@example.com', 'ops.write');
    expect(caller(forged, false)).toEqual(caller({}, false));
    expect(caller(forged, false).actor).toBe('function key');
  });

  test.each([['%%%'], [Buffer.from('{"claims": "all"}').toString('base64')], ['']])(
    'a principal that cannot be read, %j, has no roles',
    (principal) => {
      expect(caller({ 'x-ms-client-principal': principal }, true).roles).toEqual([]);
    },
  );

  test('a caller without a name is known by their id', () => {
    const headers = { 'x-ms-client-principal-name': ' ', 'x-ms-client-principal-id': '7c0e' };
    expect(caller(headers, true).actor).toBe('7c0e');
  });
});

describe('what a browser sends for another site is refused', () => {
  const writer = callerOf({ headers: new Headers() }, false);
  const change = { method: 'post' } as const;
  const status = (headers: Record<string, string>) =>
    whyNotAdmitted(change, { headers: new Headers(headers) }, writer)?.status;
  const json = 'application/json; charset=utf-8';

  test.each([['cross-site'], ['same-site'], ['anything else']])('Sec-Fetch-Site: %s', (site) => {
    expect(status({ 'sec-fetch-site': site, 'content-type': json })).toBe(403);
  });

  test.each([[undefined], ['same-origin'], ['none']])('but not with Sec-Fetch-Site: %s', (site) => {
    expect(status({ 'content-type': json, ...(site === undefined ? {} : { 'sec-fetch-site': site }) })).toBe(
      undefined,
    );
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['?'],
  ])('a body of type %s is a 415', (type) => {
    expect(status({ 'content-type': type })).toBe(415);
  });

  test('so is a body without a type; no body needs none', () => {
    expect(status({ 'content-length': '2' })).toBe(415);
    expect(status({ 'transfer-encoding': 'chunked' })).toBe(415);
    expect(status({ 'content-length': '0' })).toBe(undefined);
    expect(status({})).toBe(undefined);
  });
});

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
    { method, path }: { method: string; path: string },
    headers: Record<string, string>,
  ): Promise<number> {
    const response = await fetch(`${host.address}/api/${path.replace('{id}', 'none')}`, {
      method: method.toUpperCase(),
      headers: { 'content-type': 'application/json', ...headers },
      ...(method === 'get' ? {} : { body: '{"nothing": true}' }),
    });
    await response.body?.cancel();
    return response.status;
  }
  const withKey = { 'x-functions-key': key };

  test.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    '%s',
    { timeout: 60_000 },
    async (_, operation) => {
      const reads = operation.method === 'get';
      const answered = (status: number) => ![401, 403].includes(status);
      expect(await statusOf(byKey, operation, {})).toBe(401);
      expect(await statusOf(bySignIn, operation, signedIn('ada', 'ops.write'))).toBe(401);
      expect(answered(await statusOf(byKey, operation, withKey))).toBe(true);
      const forged = { ...withKey, ...signedIn('ceo@example.com') };
      expect(answered(await statusOf(byKey, operation, forged))).toBe(true);
      const asReader = await statusOf(bySignIn, operation, { ...withKey, ...signedIn('ada', 'ops.read') });
      expect(reads ? answered(asReader) : asReader).toBe(reads ? true : 403);
      const asWriter = await statusOf(bySignIn, operation, { ...withKey, ...signedIn('ada', 'ops.write') });
      expect(answered(asWriter)).toBe(true);
      expect(await statusOf(bySignIn, operation, { ...withKey, ...signedIn('ada') })).toBe(403);
    },
  );

  test('two routes take anybody: the dashboard’s page, and events, which are signed', async () => {
    const folder = new URL('../../src/functions/', import.meta.url);
    const open = readdirSync(folder).filter((file) =>
      readFileSync(new URL(file, folder), 'utf8').includes("authLevel: 'anonymous'"),
    );
    expect(open).toEqual(['getDashboard.ts', 'receiveEvent.ts']);
    expect((await fetch(`${byKey.address}/api/payments/events`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${byKey.address}/api/ops/ui`)).status).not.toBe(401);
  });
});
