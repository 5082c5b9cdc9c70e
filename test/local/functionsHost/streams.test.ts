import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { z } from 'zod';
import { type HostProcess, startHostProcess } from '../../support/functionsHostProcess.ts';

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

  test('a function that throws is answered with 500 and no detail, and logged', async () => {
    const response = await fetch(address('throws'));
    expect([response.status, await response.text()]).toEqual([500, '']);
    await host.line(/throws \S+ executed \(failed, \d+ ms\): Error: secret detail/);
  });

  test('a body that fails breaks the connection, so that the part does not pass for the whole', async () => {
    const response = await fetch(address('breaks'));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    await host.line(/breaks \S+ executed \(failed, \d+ ms\): Error: the store is away/);
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
    const run = await fetch(`${host.address}/admin/functions/throws`, {
      method: 'POST',
      headers: { 'x-functions-key': 'the-master', 'content-type': 'application/json' },
      body: '{"input":""}',
    });
    expect(run.status).toBe(404);
  });
});

const progress = z.object({ made: z.number(), rss: z.number() });
const made = async () => progress.parse(await (await fetch(address('made'))).json());

describe('a reader that does not read', () => {
  async function begin(): Promise<IncomingMessage> {
    const [response] = await once(get(address('large'), { agent: false }), 'response');
    return response as IncomingMessage;
  }
  /** Waits until no more chunks are made. */
  async function settled() {
    let last = await made();
    await vi.waitFor(
      async () => {
        const next = await made();
        const before = last.made;
        last = next;
        expect(next.made).toBe(before);
        expect(next.made).toBeGreaterThan(0);
      },
      { interval: 500, timeout: 20_000 },
    );
    return last;
  }

  test('is waited for, and gets everything once it reads', async () => {
    const before = await made();
    const response = await begin();
    const waiting = await settled();
    expect(waiting.made).toBeLessThan(40);
    expect(waiting.rss - before.rss).toBeLessThan(150 << 20);
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(400 << 20);
    await host.line(/SEEN large ended at 400/);
  }, 60_000);

  test('ends the work by leaving', async () => {
    const printed = host.lines.length;
    const response = await begin();
    const waiting = await settled();
    response.destroy();
    await vi.waitFor(() => {
      const seen = host.lines.slice(printed).find((line) => line.includes('SEEN large ended at'));
      expect(Number(seen?.split(' ').at(-1))).toBeLessThanOrEqual(waiting.made + 3);
    }, 10_000);
  });
});
