import { createClient, ErrorReply, type RedisClientOptions } from 'redis';
import { untilAborted } from '../untilAborted.ts';
import { type LockKeys, type RedisScript, runScript } from './redisScripts.ts';

/** What the client's own options can say of a server. The rest follows from how leases use it. */
export type RedisServer = Pick<
  RedisClientOptions,
  'url' | 'socket' | 'username' | 'password' | 'credentialsProvider' | 'name' | 'database'
>;

type Client = ReturnType<typeof newClient>;

/** A client that connects once. */
interface Link {
  client: Client;
  /** Rejects if it cannot be connected. */
  ready: Promise<unknown>;
  /** When the first request was sent that is not answered yet, in milliseconds on the monotonic clock. */
  unansweredSince?: number | undefined;
  /** A WAIT that covers every write that was answered before it is sent. */
  waiting?: Promise<number> | undefined;
}

/** Limit of an attempt to connect, its handshake included, unless `socket.connectTimeout` is set. In milliseconds. */
const connectMs = 2_000;

/**
 * A connection that has answered nothing for so many milliseconds is given up: TCP would take up to 15 minutes to find out
 * that the server has gone. Not sooner: a release that follows a lost acquire on the same connection cannot overtake it.
 */
const silentMs = 10_000;

/**
 * One connection, opened by the first call that needs it. If it is lost, the next call opens another. Nothing happens
 * between calls, and nothing is sent once its caller has given up.
 */
export interface RedisConnection extends AsyncDisposable {
  /** The answer to what `request` sends. Rejects with the reason of `signal` as soon as that aborts. */
  send<T>(signal: AbortSignal, request: (client: Client) => Promise<T>): Promise<T>;
  /**
   * Runs a script. If it has changed the lock, waits until enough replicas have acknowledged the change.
   *
   * @throws {Error} if too few acknowledge it in time. It has been made, but a failover may undo it.
   */
  run<T>(signal: AbortSignal, script: RedisScript<T>, keys: LockKeys, ...args: string[]): Promise<T>;
}

/** How many replicas must acknowledge a change, and within how many milliseconds. */
export interface Replication {
  replicas: number;
  waitMs: number;
}

export function redisConnection(server: RedisServer, { replicas, waitMs }: Replication): RedisConnection {
  let current: Link | undefined;
  let disposed = false;

  function open(): Link {
    if (disposed) throw new Error('The lock store has been disposed of');
    const client = newClient(server);
    const limit = server.socket?.connectTimeout ?? connectMs;
    const ready = untilAborted(AbortSignal.timeout(limit), () => connect(client));
    const link: Link = { client, ready };
    // A listener must be there, or a lost connection ends the process. Whoever waits learns the reason first.
    client.on('error', () => queueMicrotask(() => drop(link)));
    ready.catch(() => drop(link));
    return link;
  }

  /** Connects, unless the link is dropped meanwhile: node-redis would keep a socket that was still connecting. */
  async function connect(client: Client): Promise<void> {
    await client.connect();
    if (current?.client !== client) return client.destroy();
    await refuseEviction(client);
  }

  function drop(link: Link): void {
    if (current === link) current = undefined;
    link.client.destroy();
  }

  /** Sends a request, and notes that the server answers. An error that the server sends is an answer too. */
  async function ask<T>(link: Link, request: () => Promise<T>): Promise<T> {
    link.unansweredSince ??= performance.now();
    try {
      const answer = await request();
      link.unansweredSince = undefined;
      return answer;
    } catch (error) {
      if (error instanceof ErrorReply) link.unansweredSince = undefined;
      // A primary that has become a replica: its name may already lead to another server.
      if (error instanceof ErrorReply && error.message.includes('READONLY')) drop(link);
      throw error;
    }
  }

  async function exchange<T>(signal: AbortSignal, request: (link: Link) => Promise<T>): Promise<T> {
    current ??= open();
    const link = current;
    try {
      return await untilAborted(signal, async () => {
        await link.ready;
        signal.throwIfAborted();
        return request(link);
      });
    } catch (error) {
      const { unansweredSince = Number.POSITIVE_INFINITY } = link;
      if (signal.aborted && performance.now() - unansweredSince >= silentMs) drop(link);
      throw error;
    }
  }

  /** WAIT counts the writes of its own connection, so it must be this one: another would answer at once. */
  async function acknowledged(link: Link): Promise<void> {
    link.waiting ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      link.waiting = undefined;
      return ask(link, () => link.client.wait(replicas, waitMs));
    });
    const reached = await link.waiting;
    if (reached >= replicas) return;
    throw new Error(`${reached} of ${replicas} replicas acknowledged the change within ${waitMs} ms`);
  }

  return {
    send: (signal, request) =>
      exchange(signal, (link) => ask(link, () => request(link.client.withAbortSignal(signal)))),

    run: (signal, script, keys, ...args) =>
      exchange(signal, async (link) => {
        const answer = await ask(link, () =>
          runScript(link.client.withAbortSignal(signal), script, keys, ...args),
        );
        if (replicas > 0 && answer === script.changed) await acknowledged(link);
        return answer;
      }),

    async [Symbol.asyncDispose]() {
      disposed = true;
      if (current !== undefined) drop(current);
    },
  };
}

function newClient(server: RedisServer) {
  return createClient({
    ...server,
    socket: { connectTimeout: connectMs, ...server.socket, reconnectStrategy: false },
    // Otherwise a request that its caller gave up is sent once there is a connection.
    disableOfflineQueue: true,
    // Each call has its own limit.
    commandOptions: { timeout: 0 },
    // A connection that moves to another server by itself could not answer for its earlier writes.
    maintNotifications: 'disabled',
  });
}

/** @throws {Error} if the server may evict keys, and with them locks. One that does not say so is trusted. */
async function refuseEviction(client: Client): Promise<void> {
  const info = await client.info('memory').catch((error: unknown) => {
    if (error instanceof ErrorReply) return '';
    throw error;
  });
  const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? [];
  if (policy === 'noeviction' || limit === '0') return;
  throw new Error(`Redis may evict locks: its maxmemory-policy is ${policy}; set it to noeviction`);
}
