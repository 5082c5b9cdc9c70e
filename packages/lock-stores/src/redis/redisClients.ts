import type * as nodeRedis from '@redis/client';
import { untilAborted } from '../untilAborted.ts';
import type { RedisClusterServers, RedisServer } from './redisAddress.ts';
import { isRedisReply } from './redisScripts.ts';

/** The package `@redis/client`, which has half a thousand modules: it is loaded by the first call that needs it. */
export type NodeRedis = typeof nodeRedis;

export type RedisClient = ReturnType<typeof newClient>;

/** The clients of one server, or of the nodes of a cluster. Each connects once; whatever happens to it then is its end. */
export interface RedisClients {
  connect(): Promise<void>;
  /** The client of the node that has this key. */
  forKey(name: string): Promise<RedisClient>;
  /** One client for each node that has keys of its own. */
  all(): Promise<RedisClient[]>;
  /** Connects once more, to hear what is published on a channel. */
  listen(channel: string, tell: (message: string) => void): Promise<void>;
  destroy(): void;
}

type ServerOptions = Pick<
  nodeRedis.RedisClientOptions,
  'url' | 'username' | 'password' | 'credentialsProvider' | 'name' | 'database'
>;

/** Limit of an attempt to connect, its handshake included, unless `socket.connectTimeout` is set. In milliseconds. */
export const connectMs = 2_000;

/** Limit of a SUBSCRIBE (ms). */
export const subscribedWithinMs = 5_000;

/** Calls `lost` when a connection is lost. */
export function redisClients(
  library: NodeRedis,
  server: RedisServer | RedisClusterServers,
  lost: () => void,
): RedisClients {
  return 'rootNodes' in server
    ? clientsOfCluster(library, server, lost)
    : clientOfServer(library, server, lost);
}

function clientOfServer(library: NodeRedis, server: RedisServer, lost: () => void): RedisClients {
  const client = newClient(library, server).on('error', lost);
  let listener: RedisClient | undefined;
  return {
    async connect() {
      await client.connect();
      client.unref();
      await refuseEviction(client);
    },
    forKey: async () => client,
    all: async () => [client],
    async listen(channel, tell) {
      const made = newClient(library, server).on('error', lost);
      listener = made;
      try {
        await made.connect();
        made.unref();
        await untilAborted(AbortSignal.timeout(subscribedWithinMs), () => made.subscribe(channel, tell));
      } catch (error) {
        // Where a user may not subscribe, each look of a waiter would leave a connection behind. One without an answer would hold up
        // every later waiter.
        listener = undefined;
        made.destroy();
        throw error;
      }
    },
    destroy() {
      client.destroy();
      listener?.destroy();
    },
  };
}

function clientsOfCluster(
  { createCluster }: NodeRedis,
  { rootNodes, defaults = {} }: RedisClusterServers,
  lost: () => void,
): RedisClients {
  const cluster = createCluster({
    rootNodes: [...rootNodes],
    defaults: clientOptions(defaults),
    minimizeConnections: true,
  })
    .on('error', lost)
    .on('node-error', lost);
  const checked = new WeakMap<RedisClient, Promise<void>>();
  const limitMs = defaults.socket?.connectTimeout ?? connectMs;

  /** A node's client, which may have to connect first. */
  async function connected(connecting: Promise<RedisClient>): Promise<RedisClient> {
    try {
      return await untilAborted(AbortSignal.timeout(limitMs), async () => {
        const client = await connecting;
        client.unref();
        const check = checked.get(client) ?? refuseEviction(client);
        checked.set(client, check);
        await check;
        return client;
      });
    } catch (error) {
      lost();
      throw error;
    }
  }

  return {
    async connect() {
      await cluster.connect();
    },
    forKey: (name) => connected(cluster.getNodeClientForKey(name)),
    all: () => Promise.all(cluster.masters.map((node) => connected(cluster.nodeClient(node)))),
    // A cluster passes on what is published on any of its nodes.
    listen: (channel, tell) => cluster.subscribe(channel, tell),
    destroy: () => cluster.destroy(),
  };
}

/** `createClient` builds the class of all commands anew wherever the options differ from the last ones: a quarter of a second. */
function newClient({ RedisClient }: NodeRedis, server: RedisServer) {
  if (makeClient === undefined) {
    const made: unknown = RedisClient.factory({});
    makeClient = made as NodeRedis['createClient'];
  }
  return makeClient(clientOptions(server));
}
let makeClient: NodeRedis['createClient'] | undefined;

function clientOptions({ socket, ...server }: RedisServer) {
  return {
    ...(server as ServerOptions),
    socket: { connectTimeout: connectMs, ...socket, reconnectStrategy: false },
    // Otherwise a request that its caller gave up is sent once there is a connection.
    disableOfflineQueue: true,
    // Each call has its own limit.
    commandOptions: { timeout: 0 },
    // A connection that moves to another server by itself could not answer for its earlier writes.
    maintNotifications: 'disabled',
  } as const;
}

/** True if Redis refuses the name, the password, the database or the command, or its client is not installed. */
export function redisDenies(error: unknown): boolean {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return true;
  return error instanceof Error && /^(WRONGPASS|NOAUTH|NOPERM|ERR DB index)/.test(error.message);
}

/** @throws {RangeError} if the server may evict keys, and with them locks. One that does not say so is trusted. */
export async function refuseEviction(client: { info(section: string): Promise<string> }): Promise<void> {
  const info = await client.info('memory').catch((error: unknown) => {
    if (isRedisReply(error)) return '';
    throw error;
  });
  const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? [];
  if (policy === 'noeviction' || limit === '0') return;
  throw new RangeError(`Redis may evict locks: its maxmemory-policy is ${policy}; set it to noeviction`);
}
