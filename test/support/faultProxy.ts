import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './faultyLockStore.ts';

export interface Exchange {
  method: string;
  /** Path and query. */
  path: string;
  headers: IncomingMessage['headers'];
}

export interface FaultProxy extends AsyncDisposable {
  /** `http://127.0.0.1:{port}` */
  origin: string;
  stop(): Promise<void>;
}

export interface FaultProxyOptions {
  /** The server behind the proxy, such as `http://127.0.0.1:10000`. */
  target: string;
  /** Chooses the fault for a request. Called once per request. */
  fault: (exchange: Exchange) => Fault;
  /**
   * Called for each request that the target answered with success. `forwardedAt` is when it was forwarded, in
   * `performance.now()` milliseconds.
   */
  applied?: (exchange: Exchange, forwardedAt: number) => void;
}

/**
 * A plain HTTP proxy that injects faults, named as in `faultyLockStore`. It forwards responses unchanged,
 * headers included, so that signed requests and SDKs work through it.
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const target = new URL(options.target);
  const sockets = new Set<Socket>();
  const stopping = new AbortController();
  const later = (ms: number) => delay(ms, undefined, { signal: stopping.signal });

  const server = createServer((incoming, answer) => {
    handle(incoming, answer).catch(() => incoming.socket.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  async function handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const exchange: Exchange = { method, path, headers };
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const fault = options.fault(exchange);
    switch (fault.kind) {
      case 'blackHole':
        return;
      case 'resetBefore':
        incoming.socket.resetAndDestroy();
        return;
      case 'status':
        answer.writeHead(fault.status, { 'content-length': 0 }).end();
        return;
      case 'delay':
        await later(fault.ms);
        break;
      case 'none':
      case 'slowSuccess':
      case 'resetAfter':
        break;
    }
    const { status, headers: answered, body } = await forward(exchange, Buffer.concat(chunks));
    if (fault.kind === 'resetAfter') {
      incoming.socket.resetAndDestroy();
      return;
    }
    if (fault.kind === 'slowSuccess') await later(fault.ms);
    answer.writeHead(status, answered).end(body);
  }

  async function forward(
    exchange: Exchange,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
    const forwardedAt = performance.now();
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const { method, path, headers } = exchange;
      const outgoing = request(
        { host: target.hostname, port: target.port, method, path, headers, signal: stopping.signal },
        resolve,
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    });
    const status = reply.statusCode ?? 502;
    if (status < 300) options.applied?.(exchange, forwardedAt);
    const chunks: Buffer[] = [];
    for await (const chunk of reply) chunks.push(chunk as Buffer);
    return { status, headers: reply.headers, body: Buffer.concat(chunks) };
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  async function stop(): Promise<void> {
    stopping.abort();
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
  return { origin: `http://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop };
}
