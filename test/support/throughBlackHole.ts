import { type FaultProxy, startFaultProxy } from './faultProxy.ts';

export interface BlackHole extends AsyncDisposable {
  /** The storage account behind the proxies. */
  connectionString: string;
  /** From now on requests are taken and never answered, or handed on again. */
  swallow(everything: boolean): void;
  /** How many requests were. */
  swallowed(): number;
}

/** A storage account (as a connection string with an address for each service) behind proxies that can go silent. */
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
