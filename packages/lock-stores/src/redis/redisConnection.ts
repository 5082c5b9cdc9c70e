import { untilAborted } from '../untilAborted.ts';
import type { RedisClusterServers, RedisServer } from './redisAddress.ts';
import {
  connectMs,
  type NodeRedis,
  type RedisClient,
  type RedisClients,
  redisClients,
} from './redisClients.ts';
import { isRedisReply, type LockKeys, type RedisScript, runScript } from './redisScripts.ts';

/** Clients that connect once. */
interface Link {
  clients: RedisClients;
  /** Rejects if they cannot be connected; undefined once they are. */
  connecting: Promise<void> | undefined;
  /** When the first request was sent that a node has not answered yet, in milliseconds on the monotonic clock. */
  unanswered: Map<RedisClient, number>;
  /** The next WAIT of each node: it covers every write that was answered before. */
  waiting: Map<RedisClient, Promise<number>>;
  /** Resolves once it listens to the channel of this process. */
  listening: Promise<void> | undefined;
}

/**
 * A connection that has answered nothing for so many milliseconds is closed: TCP would take up to 15 minutes to find out
 * that the server has gone. Sooner only for a renewal: a release that follows a lost acquire on the same connection cannot
 * overtake it. On the next one it may, if a frozen server goes on; then the lock stays taken until that lease runs out.
 */
const mostSilentMs = 10_000;

/** Somebody who gives up when the signal aborts, and for whom a connection may be silent for so many milliseconds. */
export interface RedisCaller {
  signal: AbortSignal;
  silentMs?: number;
}

/**
 * Connections that are opened by the first call that needs them. If one is lost, the next call opens others. Nothing happens
 * between calls, and nothing is sent once its caller has given up. Each call rejects with the reason of its signal as soon as
 * that aborts.
 */
export interface RedisConnection extends AsyncDisposable {
  /**
   * Runs a script. If it has changed the lock, waits until enough replicas have acknowledged the change.
   *
   * @throws {Error} if too few acknowledge it in time. It has been made, but a failover may undo it.
   */
  run<T>(caller: RedisCaller, script: RedisScript<T>, keys: () => LockKeys, ...args: string[]): Promise<T>;
  /** The names of all keys that match, in pages. A name may come more than once. */
  names(signal: AbortSignal, pattern: string): AsyncIterable<string[]>;
  /** Makes sure that this process hears what is published on a channel, as long as the connection lasts. */
  listen(signal: AbortSignal, channel: string, tell: (message: string) => void): Promise<void>;
}

/** Number of replicas that must acknowledge a change, and the time that they have for it (ms). */
export interface Replication {
  replicas: number;
  waitMs: number;
}

export function redisConnection(
  server: RedisServer | RedisClusterServers,
  { replicas, waitMs }: Replication,
): RedisConnection {
  let library: NodeRedis | undefined;
  let current: Link | undefined;
  let disposed = false;
  const { socket } = 'rootNodes' in server ? (server.defaults ?? {}) : server;
  const limitMs = socket?.connectTimeout ?? connectMs;

  function open(using: NodeRedis): Link {
    if (disposed) throw new Error('The lock store has been disposed of');
    // Calls that wait for an answer of the lost connection learn the reason first.
    const clients = redisClients(using, server, () => queueMicrotask(() => drop(link)));
    const connecting = untilAborted(AbortSignal.timeout(limitMs), async () => {
      await clients.connect();
      // node-redis keeps a socket that was still connecting when it was destroyed.
      if (current !== link) clients.destroy();
    });
    const link: Link = {
      clients,
      connecting,
      unanswered: new Map(),
      waiting: new Map(),
      listening: undefined,
    };
    connecting.then(
      () => (link.connecting = undefined),
      () => drop(link),
    );
    return link;
  }

  function drop(link: Link): void {
    if (current === link) current = undefined;
    link.clients.destroy();
  }

  async function exchange<T>(
    { signal, silentMs = mostSilentMs }: RedisCaller,
    request: (link: Link) => Promise<T>,
  ): Promise<T> {
    library ??= await untilAborted(signal, () => import('@redis/client'));
    current ??= open(library);
    const link = current;
    const connected = () => {
      signal.throwIfAborted();
      return request(link);
    };
    try {
      return await untilAborted(signal, () => link.connecting?.then(connected) ?? request(link));
    } catch (error) {
      const silentSince = Math.min(...link.unanswered.values());
      if (signal.aborted && performance.now() - silentSince >= silentMs) drop(link);
      throw error;
    }
  }

  /**
   * Sends a request, and notes that the server answers. An error that the server sends is an answer too. `request` learns
   * whether others have none yet.
   */
  async function ask<T>(
    link: Link,
    client: RedisClient,
    request: (behindOthers: boolean) => Promise<T>,
  ): Promise<T> {
    const behindOthers = link.unanswered.has(client);
    if (!behindOthers) link.unanswered.set(client, performance.now());
    try {
      const answer = await request(behindOthers);
      link.unanswered.delete(client);
      return answer;
    } catch (error) {
      if (isRedisReply(error)) {
        link.unanswered.delete(client);
        // The primary is another server now, which a new connection finds.
        if (/\b(READONLY|MOVED|ASK)\b/.test(error.message)) drop(link);
      }
      throw error;
    }
  }

  /** WAIT counts the writes of its own connection, so it must be this one: another would answer at once. */
  async function acknowledged(link: Link, client: RedisClient): Promise<void> {
    const reached = await (link.waiting.get(client) ?? waitSoon());
    if (reached >= replicas) return;
    throw new Error(`${reached} of ${replicas} replicas acknowledged the change within ${waitMs} ms`);

    function waitSoon(): Promise<number> {
      const waiting = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        link.waiting.delete(client);
        return ask(link, client, () => client.wait(replicas, waitMs));
      });
      link.waiting.set(client, waiting);
      return waiting;
    }
  }

  return {
    run: (caller, script, keysOf, ...args) =>
      exchange(caller, async (link) => {
        const keys = keysOf();
        const client = await link.clients.forKey(keys.record);
        const answer = await ask(link, client, (behindOthers) =>
          runScript(script, (command, name) => {
            const sent = [command, name, '2', keys.record, keys.lease, ...args];
            // For the client a signal is more work than the rest of a request. Where nothing waits, the request leaves at once.
            const recallable = behindOthers || command === 'EVAL';
            return client.sendCommand(sent, recallable ? { abortSignal: caller.signal } : {});
          }),
        );
        if (replicas > 0 && script.changed(answer)) await acknowledged(link, client);
        return answer;
      }),

    listen: (signal, channel, tell) =>
      exchange({ signal }, (link) => {
        link.listening ??= link.clients.listen(channel, tell).catch((error: unknown) => {
          link.listening = undefined;
          throw error;
        });
        return link.listening;
      }),

    async *names(signal, pattern) {
      const options = { MATCH: pattern, COUNT: 1000 };
      for (const client of await exchange({ signal }, (link) => link.clients.all())) {
        let cursor = '0';
        do {
          const page = await exchange({ signal }, (link) =>
            ask(link, client, () => client.withAbortSignal(signal).scan(cursor, options)),
          );
          cursor = page.cursor;
          yield page.keys;
        } while (cursor !== '0');
      }
    },

    async [Symbol.asyncDispose]() {
      disposed = true;
      if (current !== undefined) drop(current);
    },
  };
}
