import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './faultyLockStore.ts';

/**
 * Fate of the bytes of every connection, named as in `faultyLockStore`:
 * - `blackHole`: they are dropped. A connection that has lost bytes stays silent to its end, even after the fault;
 *   one that was idle works again.
 * - `hold`: they wait, in both directions, until the fault changes, as with a frozen server.
 * - `delay`: what the client sends arrives `ms` later.
 * - `slowSuccess`: what the server sends arrives `ms` later.
 * - `resetBefore`: the connection is reset at the first byte that the client sends, before it is passed on.
 * - `resetAfter`: the connection is reset at the first byte that the server sends.
 */
export type TcpFault = Exclude<Fault, { kind: 'status' }> | { kind: 'hold' };

export interface TcpProxy extends AsyncDisposable {
  /** Where it listens, on 127.0.0.1. */
  port: number;
  /** The fault from now on, for connections that are open and for new ones. */
  fault: (fault: TcpFault) => void;
  /** Resets every connection, once. New ones are accepted. */
  resetNow: () => void;
  /** Number of connected clients. */
  connections: () => number;
}

interface Pair {
  client: Socket;
  server: Socket;
  /** It has lost bytes: what follows would be out of step. */
  cut: boolean;
}

/**
 * A proxy for any protocol on TCP, with faults. It passes on the end of a connection as it does bytes, in order with them:
 * in a black hole neither side learns that the other has gone.
 */
export async function startTcpProxy(target: { host?: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const stopping = new AbortController();
  let current: TcpFault = { kind: 'none' };
  let changed = Promise.withResolvers<void>();

  const listener = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const server = connect({
      host: target.host ?? '127.0.0.1',
      port: target.port,
      noDelay: true,
      allowHalfOpen: true,
    });
    const pair: Pair = { client, server, cut: false };
    pairs.add(pair);
    carry(pair, 'client');
    carry(pair, 'server');
  });

  /** Passes on what one end sends, piece by piece and in order. */
  function carry(pair: Pair, sender: 'client' | 'server'): void {
    const from = pair[sender];
    const to = sender === 'client' ? pair.server : pair.client;
    let last = Promise.resolve();
    const next = (pass: () => void) => {
      last = last.then(async () => {
        if (await survives(pair, sender)) pass();
      });
      last.catch(() => {});
    };
    from.on('data', (bytes) => next(() => to.write(bytes)));
    from.once('end', () => next(() => to.end()));
    from.on('error', () => next(() => resetSocket(to)));
    from.once('close', () => {
      next(() => to.destroy());
      if (to.closed) pairs.delete(pair);
    });
  }

  /** True if what an end sends now reaches the other. Resolves when it does. */
  async function survives(pair: Pair, sender: 'client' | 'server'): Promise<boolean> {
    while (current.kind === 'hold') await changed.promise;
    const fault = current;
    switch (fault.kind) {
      case 'none':
        break;
      case 'blackHole':
        pair.cut = true;
        break;
      case 'delay':
        if (sender === 'client') await delay(fault.ms, undefined, { signal: stopping.signal });
        break;
      case 'slowSuccess':
        if (sender === 'server') await delay(fault.ms, undefined, { signal: stopping.signal });
        break;
      case 'resetBefore':
        if (sender === 'client') reset(pair);
        break;
      case 'resetAfter':
        if (sender === 'server') reset(pair);
        break;
    }
    return !pair.cut;
  }

  function reset(pair: Pair): void {
    pair.cut = true;
    resetSocket(pair.client);
    pair.server.destroy();
  }

  function setFault(fault: TcpFault): void {
    current = fault;
    changed.resolve();
    changed = Promise.withResolvers();
  }

  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;

  return {
    port,
    fault: setFault,
    resetNow() {
      for (const pair of pairs) reset(pair);
    },
    connections: () => [...pairs].filter(({ client }) => !client.closed).length,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      setFault({ kind: 'none' });
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const pair of pairs) reset(pair);
      await closed;
    },
  };
}

/** Node 24 never exits after the reset of a socket that was ended before: it waits for the end in a busy loop. */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
