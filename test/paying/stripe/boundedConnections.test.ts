import { once } from 'node:events';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { boundConnections } from '../../../src/paying/stripe/stripeClient.ts';

const boundMs = 1_000;
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const agent = boundConnections(new Agent({ keepAlive: true }), boundMs);
afterAll(() => {
  agent.destroy();
  server.close();
});

// Timers inside Node itself stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A request that has reached the server, and a function that answers it. */
async function underWay() {
  const call = request({ host: '127.0.0.1', port, agent });
  const served = once(server, 'request') as Promise<[unknown, ServerResponse]>;
  call.end();
  const [, response] = await served;
  return {
    call,
    async answer() {
      response.end('done');
      const [answered] = await once(call, 'response');
      answered.resume();
      // The connection is then back in the agent's pool.
      await once(agent, 'free');
    },
  };
}

test('each request gets the full time, even on a reused connection; idle time does not count', async () => {
  const first = await underWay();
  vi.advanceTimersByTime(boundMs - 1);
  await first.answer();
  vi.advanceTimersByTime(boundMs);
  const second = await underWay();
  vi.advanceTimersByTime(boundMs - 1);
  await second.answer();
  expect(second.call.socket).toBe(first.call.socket);
  expect(second.call.reusedSocket).toBe(true);
});

test('a request that takes longer loses its connection', async () => {
  for (const _ of ['a used connection', 'a new one']) {
    const { call } = await underWay();
    const failed = once(call, 'error');
    vi.advanceTimersByTime(boundMs);
    expect(await failed).toMatchObject([{ name: 'ConnectionTooLong' }]);
    expect(call.socket?.destroyed).toBe(true);
  }
});
