import { untilAborted } from '../untilAborted.ts';
import type { IoRedisClient, NodeRedisClient, RedisClientGiven } from './redisAddress.ts';
import { refuseEviction, subscribedWithinMs } from './redisClients.ts';
import type { RedisConnection } from './redisConnection.ts';
import { literally } from './redisKeys.ts';
import { runScript } from './redisScripts.ts';

/** The calls on one node of Redis, as both clients have them, and of those that differ the answers of both. */
interface RedisNode {
  info(section: string): Promise<string>;
  scan(
    cursor: string,
    ...options: unknown[]
  ): Promise<readonly [cursor: string, keys: string[]] | { cursor: string; keys: string[] }>;
}

/** A client that hears what is published: node-redis is told by a function, ioredis by an event. */
interface RedisListener {
  connect?: () => Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string, tell?: (message: string) => void): Promise<unknown>;
  disconnect(): unknown;
  destroy?: () => void;
}

/** Optional calls, besides scripts. */
type Further = Partial<RedisNode> & {
  /** node-redis: the nodes of a cluster that have keys of their own, and the client of one. */
  masters?: readonly unknown[];
  nodeClient?: (node: unknown) => Promise<RedisNode> | RedisNode;
  /** ioredis: the same. */
  nodes?: (role: 'master') => RedisNode[];
  duplicate?: () => RedisListener;
};

/** True for a client of node-redis or of ioredis, single or of a cluster. */
export function isRedisClient(address: object): address is RedisClientGiven {
  return isIoRedis(address) || (hasMethod(address, 'evalSha') && hasMethod(address, 'eval'));
}

function isIoRedis(client: object): client is IoRedisClient {
  return hasMethod(client, 'evalsha') && hasMethod(client, 'eval');
}

function hasMethod(client: object, name: string): boolean {
  return typeof Reflect.get(client, name) === 'function';
}

/**
 * Requests on a client that belongs to somebody else. Each rejects as soon as its signal aborts; the client may send it all the
 * same, since it decides itself when. The client is never closed, but for the copy of it that listens.
 */
export function givenRedis(client: RedisClientGiven): RedisConnection {
  const further = client as Further;
  let checked: Promise<unknown> | undefined;
  let isReady = false;
  let listening: Promise<void> | undefined;
  let listener: RedisListener | undefined;

  async function nodes(): Promise<RedisNode[]> {
    if (further.masters !== undefined && further.nodeClient !== undefined) {
      const { nodeClient } = further;
      return Promise.all(further.masters.map(async (node) => nodeClient.call(client, node)));
    }
    return further.nodes?.call(client, 'master') ?? [further as RedisNode];
  }

  async function check(): Promise<void> {
    for (const node of await nodes()) if (hasMethod(node, 'info')) await refuseEviction(node);
  }

  /** Rejects for good if the server may evict locks, and for now if it does not answer. */
  async function ready(signal: AbortSignal): Promise<void> {
    checked ??= check().catch((error: unknown) => {
      if (!(error instanceof RangeError)) checked = undefined;
      throw error;
    });
    await untilAborted(signal, () => checked ?? Promise.resolve());
    isReady = true;
  }

  async function listen(channel: string, tell: (message: string) => void): Promise<void> {
    if (further.duplicate === undefined) throw new Error('This client cannot be duplicated to listen');
    const copy = further.duplicate.call(client);
    listener = copy;
    // Without a listener, a lost connection crashes the process.
    copy.on('error', () => {});
    try {
      await untilAborted(AbortSignal.timeout(subscribedWithinMs), async () => {
        if (isIoRedis(client)) {
          copy.on('message', (_, message = '') => tell(message));
          await copy.subscribe(channel);
        } else {
          await copy.connect?.();
          await copy.subscribe(channel, tell);
        }
      });
    } catch (error) {
      // Where a user may not subscribe, each look of a waiter would leave a connection behind. One without an answer would hold up
      // every later waiter.
      listener = undefined;
      await end(copy);
      throw error;
    }
  }

  async function end(copy: RedisListener): Promise<void> {
    if (copy.destroy !== undefined) copy.destroy();
    else await copy.disconnect();
  }

  return {
    async run({ signal }, script, keysOf, ...args) {
      const { record, lease } = keysOf();
      if (!isReady) await ready(signal);
      return untilAborted(signal, () =>
        runScript(script, (command, name) =>
          isIoRedis(client)
            ? client[command === 'EVAL' ? 'eval' : 'evalsha'](name, 2, record, lease, ...args)
            : evaluate(client, command, name, { keys: [record, lease], arguments: args }),
        ),
      );
    },

    async *names(signal, pattern) {
      const count = 1000;
      // ioredis puts it before the keys of scripts, and not before a pattern.
      const keyPrefix = isIoRedis(client) ? String(client.options?.keyPrefix ?? '') : '';
      const options = isIoRedis(client)
        ? ['MATCH', literally(keyPrefix) + pattern, 'COUNT', count]
        : [{ MATCH: pattern, COUNT: count }];
      for (const node of await untilAborted(signal, nodes)) {
        let cursor = '0';
        do {
          const page = await untilAborted(signal, () => node.scan(cursor, ...options));
          const [next, keys] = 'cursor' in page ? [page.cursor, page.keys] : page;
          cursor = next;
          yield keys.map((key) => key.slice(keyPrefix.length));
        } while (cursor !== '0');
      }
    },

    async listen(signal, channel, tell) {
      listening ??= listen(channel, tell).catch((error: unknown) => {
        listening = undefined;
        throw error;
      });
      await untilAborted(signal, () => listening ?? Promise.resolve());
    },

    async [Symbol.asyncDispose]() {
      if (listener !== undefined) await end(listener);
    },
  };
}

function evaluate(
  client: NodeRedisClient,
  command: 'EVALSHA' | 'EVAL',
  script: string,
  input: { keys: string[]; arguments: string[] },
): Promise<unknown> {
  return command === 'EVAL' ? client.eval(script, input) : client.evalSha(script, input);
}
