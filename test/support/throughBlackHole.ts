import { type FaultProxy, startFaultProxy } from './faultProxy.ts';

export interface BlackHole extends AsyncDisposable {
  /** Connects to the storage account through the proxies. */
  connectionString: string;
  /** From now on, swallow every request without a response (true), or forward them again (false). */
  swallow(everything: boolean): void;
  /** Number of requests that were swallowed. */
  swallowed(): number;
}

/** Puts a storage account behind proxies that can go silent. The string must give an endpoint per service. */
export async function throughBlackHole(connectionString: string): Promise<BlackHole> {
  let silent = false;
  let count = 0;
  const proxies: FaultProxy[] = [];
  let behind = connectionString;
  for (const [, origin = ''] of connectionString.matchAll(/Endpoint=(http:\/\/[^/;]+)/g)) {
    const proxy = await startFaultProxy({
      target: origin,
      fault() {
        if (silent) count++;
        return { kind: silent ? 'blackHole' : 'none' };
      },
    });
    proxies.push(proxy);
    behind = behind.replace(origin, proxy.origin);
  }
  return {
    connectionString: behind,
    swallow(everything) {
      silent = everything;
    },
    swallowed: () => count,
    async [Symbol.asyncDispose]() {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
}
