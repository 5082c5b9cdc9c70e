import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../support/servers/etcd.ts';
import { startPostgres } from '../support/servers/postgres.ts';
import { startRedis } from '../support/servers/redis.ts';
import type { ServerProcess } from '../support/servers/serverProcess.ts';

/** The server of the locks, apart from the cloud. */
export interface LockServer extends AsyncDisposable {
  /** The settings of the hosts. */
  env: Record<string, string>;
  /**
   * Ends it with all its data, and starts it empty after `awayMs` milliseconds. Resolves with the time when it was back, in
   * milliseconds since the epoch.
   */
  loseData: (awayMs: number) => Promise<number>;
}

const starters: Readonly<Record<string, () => Promise<{ server: ServerProcess; address: string }>>> = {
  async redis() {
    const server = await startRedis();
    return { server, address: server.url };
  },
  async postgres() {
    const server = await startPostgres();
    return { server, address: server.url };
  },
  async etcd() {
    const server = await startEtcd();
    return { server, address: server.address.replace(/^http/, 'etcd') };
  },
};

/** Undefined for blobs, which need no server of their own. */
export async function startLockServer(kind: string | undefined): Promise<LockServer | undefined> {
  if (kind === undefined || kind === 'blob') return undefined;
  const starter = starters[kind];
  if (starter === undefined)
    throw new Error(`--locks: expected ${Object.keys(starters).join(' or ')}, got ${kind}`);
  const { server, address } = await starter();
  let losing: Promise<unknown> = Promise.resolve();
  return {
    env: { LOCKS: address },
    loseData(awayMs) {
      const lost = losing.then(async () => {
        await server.loseData();
        await delay(awayMs);
        await server.start();
        return Date.now();
      });
      losing = lost.catch(() => {});
      return lost;
    },
    async [Symbol.asyncDispose]() {
      await losing;
      await server[Symbol.asyncDispose]();
    },
  };
}
