import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { type HostProcess, startHostProcess } from '../../../../test/support/functionsHostProcess.ts';

const app = fileURLToPath(new URL('fixtures/streamApp', import.meta.url));
let host: HostProcess;

beforeAll(async () => {
  host = await startHostProcess({
    app,
    env: {
      AzureWebJobsStorage: inject('azurite'),
      AzureFunctionsWebHost__hostid: `streams-${randomUUID().slice(0, 8)}`,
      FUNCTIONS_MASTER_KEY: 'the-master',
    },
    args: ['--enable-auth'],
  });
});
afterAll(() => host[Symbol.asyncDispose]());

const address = (path: string) => `${host.address}/api/${path}`;

describe('an app with streams', () => {
  test('gets raw bytes, parameters, headers and the whole query, and answers with all of its own', async () => {
    const response = await fetch(address('echo/a%20b?a=1&a=2&b=%C3%A9'), {
      method: 'POST',
      body: Buffer.from([0, 255, 10]),
      headers: { 'x-send': 'sent', 'content-type': 'application/octet-stream' },
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('x-seen')).toBe('sent');
    expect(response.headers.get('set-cookie')).toBe('c=v');
    expect(response.headers.get('x-ms-invocation-id')).toBeNull();
    expect(await response.json()).toEqual({
      method: 'POST',
      url: address('echo/a%20b?a=1&a=2&b=%C3%A9'),
      params: { name: 'a b' },
      query: [
        ['a', '1'],
        ['a', '2'],
        ['b', 'é'],
      ],
      body: '00ff0a',
    });
  });

  test('sends each chunk when it is there', async () => {
    const response = await fetch(address('slow'));
    const chunks: { text: string; at: number }[] = [];
    for await (const chunk of response.body ?? []) {
      chunks.push({ text: Buffer.from(chunk).toString(), at: performance.now() });
    }
    expect(chunks.map(({ text }) => text).join('')).toBe('one two three');
    expect((chunks.at(-1)?.at ?? 0) - (chunks[0]?.at ?? 0)).toBeGreaterThan(200);
  });

  test('keys are checked, other routes are 404, and a body over 100 MB is 413', async () => {
    expect((await fetch(address('nowhere'))).status).toBe(404);
    const large = await fetch(address('echo/x'), {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: Buffer.alloc(104_857_601),
    }).catch(() => ({ status: 413 }));
    expect(large.status).toBe(413);
  });

  test('its HTTP functions cannot be run by hand, because their input is a request', async () => {
    const run = await fetch(`${host.address}/admin/functions/echo`, {
      method: 'POST',
      headers: { 'x-functions-key': 'the-master', 'content-type': 'application/json' },
      body: '{"input":""}',
    });
    expect(run.status).toBe(404);
  });
});

/** The id of an invocation that timed out, and took its worker with it. */
const timedOut = async () => {
  const [, id] = await host.line(/echo (\S+) executed \(failed, 3\d\d\d ms\): Error: timed out/);
  return id;
};

describe('as on the real host, with streams an invocation never ends', () => {
  test('whose request has an invocation id of its own: the library waits for the request under another one', async () => {
    const answer = fetch(address('echo/x'), { headers: { 'x-ms-invocation-id': 'evil-1' } });
    expect(await timedOut()).not.toBe('evil-1');
    await host.line(
      /A function timeout has occurred\. Restarting worker process executing invocationId '\S+'\./,
    );
    await host.line(/the worker was ended by SIGKILL; another one is started/);
    expect((await answer).status).toBe(502);
    expect((await fetch(address('echo/x'))).status).toBe(201);
  });

  test('whose sender leaves within milliseconds', async () => {
    const before = host.lines.length;
    const late = () => host.lines.slice(before).some((line) => line.includes('Error: timed out'));
    // The moment that does it depends on how busy the machine is, so senders go on leaving, each a little later.
    for (let sent = 0; sent < 2_000 && !late(); sent++) await leaveAfter(1 + (sent % 40));
    await vi.waitFor(() => expect(late()).toBe(true), { timeout: 20_000 });
  }, 140_000);
});

/** Sends the head and the first chunk of a body, and breaks the connection. */
async function leaveAfter(ms: number): Promise<void> {
  const { hostname, port } = new URL(host.address);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('POST /api/echo/x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\n[\r\n');
  await delay(ms);
  socket.resetAndDestroy();
}
