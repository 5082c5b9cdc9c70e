import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from './faultProxy.ts';
import type { Fault } from './faultyLockStore.ts';

let fault: Fault;
const applied: string[] = [];
const received: string[] = [];
const target = createServer((request, answer) => {
  request.on('data', (chunk: Buffer) =>
    received.push(`${request.method} ${request.url} ${chunk.toString()}`),
  );
  request.on('end', () => answer.writeHead(201, { 'x-answer': 'yes' }).end('made'));
});
let proxy: FaultProxy;

beforeAll(async () => {
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const { port } = target.address() as AddressInfo;
  proxy = await startFaultProxy({
    target: `http://127.0.0.1:${port}`,
    fault: () => fault,
    applied: ({ method, path }) => applied.push(`${method} ${path}`),
  });
});

afterAll(async () => {
  await proxy.stop();
  target.close();
});

const send = (signal?: AbortSignal) =>
  fetch(`${proxy.origin}/a?b=c`, { method: 'PUT', body: 'x', ...(signal === undefined ? {} : { signal }) });

async function through(next: Fault): Promise<{ status?: number; received: number; applied: number }> {
  fault = next;
  received.length = 0;
  applied.length = 0;
  const status = await send(AbortSignal.timeout(300)).then(
    (answer) => answer.status,
    () => undefined,
  );
  return { ...(status === undefined ? {} : { status }), received: received.length, applied: applied.length };
}

test('without a fault, request and response pass unchanged', async () => {
  fault = { kind: 'none' };
  received.length = 0;
  const answer = await send();
  expect([answer.status, answer.headers.get('x-answer'), await answer.text()]).toEqual([201, 'yes', 'made']);
  expect(received).toEqual(['PUT /a?b=c x']);
});

test.each<[Fault, Awaited<ReturnType<typeof through>>]>([
  [{ kind: 'blackHole' }, { received: 0, applied: 0 }],
  [{ kind: 'resetBefore' }, { received: 0, applied: 0 }],
  [{ kind: 'resetAfter' }, { received: 1, applied: 1 }],
  [
    { kind: 'status', status: 503 },
    { status: 503, received: 0, applied: 0 },
  ],
  [
    { kind: 'delay', ms: 60_000 },
    { received: 0, applied: 0 },
  ],
  [
    { kind: 'slowSuccess', ms: 60_000 },
    { received: 1, applied: 1 },
  ],
  [
    { kind: 'delay', ms: 20 },
    { status: 201, received: 1, applied: 1 },
  ],
  [
    { kind: 'slowSuccess', ms: 20 },
    { status: 201, received: 1, applied: 1 },
  ],
])('%o', async (next, outcome) => {
  expect(await through(next)).toEqual(outcome);
});
