import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a local service that can be cut. */
export interface Relay extends AsyncDisposable {
  port: number;
  /** While it is cut, open connections are reset and new ones refused. */
  cut(isCut: boolean): void;
}

/** Passes connections on to a port of this machine. */
export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer({ noDelay: true }, (client) => {
    if (isCut) return void client.resetAndDestroy();
    const service = connect({ host: '127.0.0.1', port: target, noDelay: true });
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      from.once('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const resetAll = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut(cut) {
      isCut = cut;
      if (cut) resetAll();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      resetAll();
      await closed;
    },
  };
}
