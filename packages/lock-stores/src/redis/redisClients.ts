import { createClient, createCluster, ErrorReply, type RedisClientOptions } from 'redis';
import { untilAborted } from '../untilAborted.ts';

/** Options of the client that may be chosen for a server. The rest follows from how leases use it. */
export type RedisServer = Pick<
  RedisClientOptions,
  'url' | 'socket' | 'username' | 'password' | 'credentialsProvider' | 'name' | 'database'
>;

/** A Redis Cluster: some of its nodes, from which the others are learned, and options of all connections. */
export interface RedisClusterServers {
  rootNodes: readonly { url: string }[];
  defaults?: Omit<RedisServer, 'url' | 'database'>;
}

export type RedisClient = ReturnType<typeof newClient>;

/** The clients of one server, or of the nodes of a cluster. Each connects once; whatever happens to it then is its end. */
export interface RedisClients {
  connect(): Promise<void>;
  /** The client of the node that has this key. */
  forKey(name: string): Promise<RedisClient>;
  /** One client for each node that has keys of its own. */
  all(): Promise<RedisClient[]>;
  destroy(): void;
}

/** Limit of an attempt to connect, its handshake included, unless `socket.connectTimeout` is set. In milliseconds. */
export const connectMs = 2_000;

/** Calls `lost` when a connection is lost. */
export function redisClients(server: RedisServer | RedisClusterServers, lost: () => void): RedisClients {
  return 'rootNodes' in server ? clientsOfCluster(server, lost) : clientOfServer(server, lost);
}

function clientOfServer(server: RedisServer, lost: () => void): RedisClients {
  const client = newClient(server).on('error', lost);
  return {
    async connect() {
      await client.connect();
      client.unref();
      await refuseEviction(client);
    },
    forKey: async () => client,
    all: async () => [client],
    destroy: () => client.destroy(),
  };
}

function clientsOfCluster({ rootNodes, defaults = {} }: RedisClusterServers, lost: () => void): RedisClients {
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
    destroy: () => cluster.destroy(),
  };
}

function newClient(server: RedisServer) {
  return createClient(clientOptions(server));
}

function clientOptions<S extends Omit<RedisServer, 'url' | 'database'>>(server: S) {
  return {
    ...server,
    socket: { connectTimeout: connectMs, ...server.socket, reconnectStrategy: false },
    // Otherwise a request that its caller gave up is sent once there is a connection.
    disableOfflineQueue: true,
    // Each call has its own limit.
    commandOptions: { timeout: 0 },
    // A connection that moves to another server by itself could not answer for its earlier writes.
    maintNotifications: 'disabled',
  } as const;
}

/** True if Redis refuses the name, the password, the database or the command. */
export function redisDenies(error: unknown): boolean {
  return error instanceof ErrorReply && /^(WRONGPASS|NOAUTH|NOPERM|ERR DB index)/.test(error.message);
}

/** @throws {RangeError} if the server may evict keys, and with them locks. One that does not say so is trusted. */
async function refuseEviction(client: RedisClient): Promise<void> {
  const info = await client.info('memory').catch((error: unknown) => {
    if (error instanceof ErrorReply) return '';
    throw error;
  });
  const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
  const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(info) ?? [];
  if (policy === 'noeviction' || limit === '0') return;
  throw new RangeError(`Redis may evict locks: its maxmemory-policy is ${policy}; set it to noeviction`);
}
