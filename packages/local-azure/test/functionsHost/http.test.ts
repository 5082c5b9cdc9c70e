import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';

const app = fileURLToPath(new URL('fixtures/esmApp', import.meta.url));
let host: HostProcess;

beforeAll(async () => {
  host = await startHostProcess({
    app,
    env: {
      AzureWebJobsStorage: inject('azurite'),
      QUEUE_NAME: `http-${randomUUID()}`,
      EVERY_SECOND: '0 0 0 1 1 *',
      FUNCTIONS_MASTER_KEY: 'the-master',
      FUNCTIONS_HOST_KEY: 'the-host',
      AzureFunctionsJobHost__logging__logLevel__Host: 'Error',
    },
    args: ['--enable-auth', '--no-timer-singleton'],
  });
});
afterAll(() => host[Symbol.asyncDispose]());

const get = (path: string, init?: RequestInit) => fetch(host.address + path, init);
const raw = (method: string, path: string) =>
  new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    httpRequest(host.address + path, { method }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk) => {
          body += chunk;
        })
        .once('end', () => resolve({ status: response.statusCode, body }));
    })
      .on('error', reject)
      .end();
  });

describe('requests and responses', () => {
  test('passes bytes, query, headers, cookies and status; the default route ignores case', async () => {
    const response = await get('/v1/api/ECHO?a=1&a=2&b=%C3%A9', {
      method: 'PUT',
      body: Buffer.from([0, 255, 10]),
      headers: { 'x-send': 'sent' },
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('x-seen')).toBe('sent');
    expect(response.headers.getSetCookie()).toEqual([
      'c=v; Max-Age=5; Path=/v1; SameSite=Lax',
      'everywhere=w; Path=/',
    ]);
    expect(await response.json()).toEqual({
      method: 'PUT',
      url: `${host.address}/v1/api/ECHO?a=1&a=2&b=%C3%A9`,
      query: { a: '1,2', b: 'é' },
      body: '00ff0a',
    });
  });

  test('answers 204 to undefined, and 500 with an empty body to an exception', async () => {
    expect((await get('/v1/api/nothing')).status).toBe(204);
    await host.line(/SEEN hook "postInvocation"/);
    const failed = await get('/v1/api/throws');
    expect([failed.status, await failed.text()]).toEqual([500, '']);
    await host.line(/throws \S+ executed \(failed, \d+ ms\): Error: secret detail/);
  });

  test('answers 413 to a body over 100 MB', async () => {
    const request = httpRequest(`${host.address}/v1/api/echo`, {
      method: 'POST',
      headers: { 'content-length': 104_857_601 },
    });
    request.flushHeaders();
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(413);
    request.destroy();
  });

  test('a function that exceeds functionTimeout is logged as timed out and answered 500', async () => {
    expect((await get('/v1/api/slow?ms=1500')).status).toBe(500);
    await host.line(/slow \S+ executed \(failed, 1\d\d\d ms\): Error: timed out/);
  });

  test('a log entry from the app carries function and invocation id', async () => {
    const id = await (await get('/v1/api/logs')).text();
    await host.line(new RegExp(`^\\S+ info {2}logs ${id} a user entry$`));
  });
});

describe('routes', () => {
  test.each([
    ['/v1/api/items/12', { route: 'item', id: '12' }],
    ['/v1/api/files/a/b%20c', { path: 'a/b c' }],
  ])('%s', async (path, expected) => {
    expect(await (await get(path)).json()).toEqual(expected);
  });

  test('a literal wins over a parameter', async () => {
    expect(await (await get('/v1/api/items/special')).text()).toBe('literal');
  });

  test.each([
    ['GET', '/v1/api/unknown'],
    ['GET', '/api/echo'],
    ['GET', '/v1/api/items/no-number'],
    ['DELETE', '/v1/api/echo'],
    ['OPTIONS', '/v1/api/echo'],
    ['HEAD', '/v1/api/echo'],
  ])('%s %s is 404 and empty', async (method, path) => {
    expect(await raw(method, path)).toEqual({ status: 404, body: '' });
  });

  test('HEAD / is 200, as GET / is', async () => {
    expect(await raw('HEAD', '/')).toEqual({ status: 200, body: '' });
  });
});

describe('keys', () => {
  test.each([
    ['/v1/api/guarded', {}, 401],
    ['/v1/api/guarded', { 'x-functions-key': 'wrong' }, 401],
    ['/v1/api/guarded', { 'x-functions-key': 'the-host' }, 200],
    ['/v1/api/guarded', { 'x-functions-key': 'the-master' }, 200],
    ['/v1/api/guarded?code=the-host', {}, 200],
    ['/v1/api/masterOnly', { 'x-functions-key': 'the-host' }, 401],
    ['/v1/api/masterOnly', { 'x-functions-key': 'the-master' }, 200],
    ['/admin/host/status', {}, 401],
    ['/admin/host/status', { 'x-functions-key': 'wrong' }, 401],
    ['/admin/host/status', { 'x-functions-key': 'the-host' }, 403],
    ['/admin/functions', { 'x-functions-key': 'the-host' }, 403],
    ['/admin/host/status', { 'x-functions-key': 'the-master' }, 200],
    ['/', {}, 200],
  ])('%s %o', async (path, headers, status) => {
    expect((await get(path, { headers })).status).toBe(status);
  });
});

describe('POST /admin/functions/{name}', () => {
  const run = (name: string, body: string) =>
    get(`/admin/functions/${name}`, {
      method: 'POST',
      body,
      headers: { 'x-functions-key': 'the-master', 'content-type': 'application/json' },
    });

  test('runs a timer', async () => {
    expect((await run('everysecond', '{"input":""}')).status).toBe(202);
    const [, timer = ''] = await host.line(/SEEN timer (.*)/);
    expect(JSON.parse(timer)).toEqual({
      schedule: { adjustForDST: true },
      scheduleStatus: null,
      isPastDue: false,
    });
  });

  test('passes the input to a queue function, with dequeue count 0', async () => {
    expect((await run('onQueue', '{"input":"{\\"a\\":1}"}')).status).toBe(202);
    const [, seen = ''] = await host.line(/SEEN queue (.*)/);
    expect(JSON.parse(seen)).toMatchObject({ message: { a: 1 }, triggerMetadata: { dequeueCount: 0 } });
  });

  test('answers 404 to an unknown function, 400 to a body that is not JSON', async () => {
    expect((await run('missing', '{"input":""}')).status).toBe(404);
    expect((await run('missing', '{')).status).toBe(404);
    expect((await run('onQueue', '{')).status).toBe(400);
  });

  test('answers 202 without an input, and 415 to a body that is not called JSON', async () => {
    expect((await run('everysecond', '{}')).status).toBe(202);
    const headers = { 'x-functions-key': 'the-master' };
    const text = await get('/admin/functions/everysecond', { method: 'POST', body: '{"input":""}', headers });
    expect(text.status).toBe(415);
  });

  test('GET /admin/functions lists them', async () => {
    const answer = await get('/admin/functions', { headers: { 'x-functions-key': 'the-master' } });
    const listed = (await answer.json()) as { name: string; config: { bindings: { type: string }[] } }[];
    expect(
      Object.fromEntries(listed.map(({ name, config }) => [name, config.bindings[0]?.type])),
    ).toMatchObject({
      echo: 'httpTrigger',
      everySecond: 'timerTrigger',
      onQueue: 'queueTrigger',
    });
  });
});
