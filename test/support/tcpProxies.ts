import { startTcpProxy, type TcpFault } from './tcpProxy.ts';

export interface TcpProxies extends AsyncDisposable {
  /** Where the server of this port is reached through its proxy. */
  at: (port: number) => number;
  /** The fault from now on, on the way to each server. */
  fault: (fault: TcpFault) => void;
  /** Resets every connection, once. New ones are accepted. */
  resetNow: () => void;
}

/** A proxy in front of each of several servers, with the same fault on all of them. */
export async function startTcpProxies(ports: readonly number[]): Promise<TcpProxies> {
  await using starting = new AsyncDisposableStack();
  const proxies = await Promise.all(
    ports.map(async (port) => [port, starting.use(await startTcpProxy({ port }))] as const),
  );
  const inFront = new Map(proxies);
  const running = starting.move();
  return {
    at(port) {
      const proxy = inFront.get(port);
      if (proxy === undefined) throw new RangeError(`no proxy in front of port ${port}`);
      return proxy.port;
    },
    fault(fault) {
      for (const proxy of inFront.values()) proxy.fault(fault);
    },
    resetNow() {
      for (const proxy of inFront.values()) proxy.resetNow();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
