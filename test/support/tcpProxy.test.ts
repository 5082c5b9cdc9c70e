import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from './tcpProxy.ts';

let target: Server;
let received: string[] = [];
let ended = 0;
let proxy: TcpProxy;

/** Answers each piece with the same in capitals. */
beforeEach(async () => {
  received = [];
  ended = 0;
  target = createServer((socket) => {
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      received.push(text);
      socket.write(text.toUpperCase());
    });
    socket.on('error', () => {});
    socket.on('close', () => ended++);
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  proxy = await startTcpProxy({ port: (target.address() as AddressInfo).port });
});

afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  await new Promise((resolve) => target.close(resolve));
});

interface Client extends Disposable {
  socket: Socket;
  answers: string[];
  /** End of the connection: `end`, or the error's code or message. Undefined while it is open. */
  over: () => string | undefined;
}

async function client(): Promise<Client> {
  const socket = connect({ host: '127.0.0.1', port: proxy.port });
  const answers: string[] = [];
  let over: string | undefined;
  socket.setEncoding('utf8').on('data', (text: string) => answers.push(text));
  socket.on('end', () => (over ??= 'end'));
  socket.on('error', (error: NodeJS.ErrnoException) => (over ??= error.code ?? error.message));
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, answers, over: () => over, [Symbol.dispose]: () => void socket.destroy() };
}

const aMoment = () => delay(200);

test('without a fault bytes pass both ways, and so does the end', async () => {
  using one = await client();
  one.socket.write('a');
  await expect.poll(() => one.answers).toEqual(['A']);
  expect(proxy.connections()).toBe(1);
  one.socket.end();
  await expect.poll(() => [ended, one.over(), proxy.connections()]).toEqual([1, 'end', 0]);
});

describe('a black hole', () => {
  test('swallows both ways, and neither side learns of the other’s end', async () => {
    using one = await client();
    proxy.fault({ kind: 'blackHole' });
    one.socket.write('a');
    await aMoment();
    expect([received, one.answers, one.over()]).toEqual([[], [], undefined]);
    one.socket.destroy();
    await aMoment();
    expect(ended).toBe(0);
  });

  test('leaves a connection silent that has lost bytes; an idle one and a new one work afterwards', async () => {
    using lost = await client();
    using idle = await client();
    proxy.fault({ kind: 'blackHole' });
    lost.socket.write('a');
    await aMoment();
    proxy.fault({ kind: 'none' });
    lost.socket.write('b');
    idle.socket.write('c');
    using fresh = await client();
    fresh.socket.write('d');
    await expect.poll(() => [idle.answers, fresh.answers]).toEqual([['C'], ['D']]);
    expect(received).toEqual(['c', 'd']);
    expect(lost.answers).toEqual([]);
  });
});

test('held bytes arrive in order once the fault is over', async () => {
  using one = await client();
  proxy.fault({ kind: 'hold' });
  one.socket.write('a');
  await aMoment();
  one.socket.write('b');
  await aMoment();
  expect([received, one.over()]).toEqual([[], undefined]);
  proxy.fault({ kind: 'none' });
  await expect.poll(() => received.join('')).toBe('ab');
  await expect.poll(() => one.answers.join('')).toBe('AB');
});

test('a delay stops what the client sends, and order is kept when it ends', async () => {
  using one = await client();
  proxy.fault({ kind: 'delay', ms: 300 });
  const sentAt = performance.now();
  one.socket.write('a');
  await aMoment();
  proxy.fault({ kind: 'none' });
  one.socket.write('b');
  await expect.poll(() => one.answers.join('')).toBe('AB');
  expect(performance.now() - sentAt).toBeGreaterThan(290);
  expect(received.join('')).toBe('ab');
});

test('a slow success is received at once and answered late', async () => {
  using one = await client();
  proxy.fault({ kind: 'slowSuccess', ms: 60_000 });
  one.socket.write('a');
  await expect.poll(() => received).toEqual(['a']);
  await aMoment();
  expect(one.answers).toEqual([]);
});

describe('a reset', () => {
  test('before anything arrives', async () => {
    proxy.fault({ kind: 'resetBefore' });
    using one = await client();
    one.socket.write('a');
    await expect.poll(() => one.over()).toBe('ECONNRESET');
    expect(received).toEqual([]);
  });

  test('after the server has received, instead of its answer', async () => {
    proxy.fault({ kind: 'resetAfter' });
    using one = await client();
    one.socket.write('a');
    await expect.poll(() => one.over()).toBe('ECONNRESET');
    expect([received, one.answers]).toEqual([['a'], []]);
  });

  test('of all connections at once; new ones work', async () => {
    using one = await client();
    using two = await client();
    proxy.resetNow();
    await expect.poll(() => [one.over(), two.over()]).toEqual(['ECONNRESET', 'ECONNRESET']);
    using fresh = await client();
    fresh.socket.write('a');
    await expect.poll(() => fresh.answers).toEqual(['A']);
  });
});

test('a server that is not there resets its clients', async () => {
  await using nowhere = await startTcpProxy({ port: await unusedPort() });
  const socket = connect({ host: '127.0.0.1', port: nowhere.port });
  const code = await new Promise((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  expect(code).toBe('ECONNRESET');
});

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
