import type { LockStore } from '../../packages/leases/src/index.ts';
import { startTcpProxy } from './tcpProxy.ts';

/** A store on the server of this port, for the contract suite: `reset` breaks all of its connections. */
export async function resettable(port: number, open: (port: number) => LockStore) {
  const proxy = await startTcpProxy({ port });
  const store = open(proxy.port);
  return {
    store,
    reset: proxy.resetNow,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}
