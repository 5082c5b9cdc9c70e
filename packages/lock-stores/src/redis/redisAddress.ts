/** Options of a client of node-redis that may be chosen for a server. The rest follows from how leases use it. */
export interface RedisServer {
  /** `redis://user:password@host:port/database`, or `rediss://` over TLS. */
  url?: string;
  /** Options of its socket: `host`, `port`, `tls`, and those of `tls.connect`. `connectTimeout` in milliseconds, 2,000 unless told. */
  socket?: { connectTimeout?: number; [option: string]: unknown };
  username?: string;
  password?: string;
  /** Asked for each connection, for tokens that expire: see @redis/entraid. */
  credentialsProvider?: object;
  name?: string;
  database?: number;
}

/** A Redis Cluster: some of its nodes, from which the others are learned, and options of all connections. */
export interface RedisClusterServers {
  rootNodes: readonly { url: string }[];
  defaults?: Omit<RedisServer, 'url' | 'database'>;
}

/** A client of node-redis: of `createClient`, `createSentinel` or `createCluster`. */
export interface NodeRedisClient {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** A client of ioredis: `Redis` or `Cluster`. */
export interface IoRedisClient {
  readonly options?: { readonly keyPrefix?: string | undefined };
  evalsha(sha: string, numberOfKeys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...args: string[]): Promise<unknown>;
}

/** A client that is there already, connected or about to. */
export type RedisClientGiven = NodeRedisClient | IoRedisClient;
