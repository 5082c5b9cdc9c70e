import { createHash } from 'node:crypto';
import { ErrorReply } from 'redis';
import { z } from 'zod';

/** The keys of a lock: a hash that never expires, and a string that expires with the lease. Their hash tag is the same. */
export interface LockKeys {
  /** Fields: `version`; `record`, if a holder has left one; `broken`, the id of a lease that was taken away. */
  record: string;
  /** The id of the lease. */
  lease: string;
}

/** A script on the two keys of a lock. */
export interface RedisScript<T> {
  lua: string;
  /** Name of the script for EVALSHA: its SHA-1, in hex digits. */
  sha: string;
  answer: z.ZodType<T>;
  /** The answer that says that it has changed the lock, in a way that a failover must not undo. */
  changed: T | undefined;
}

function lockScript<T>(body: string, answer: z.ZodType<T>, changed?: T): RedisScript<T> {
  const lua = `local record, lease = KEYS[1], KEYS[2]\n${body}`;
  return { lua, sha: createHash('sha1').update(lua).digest('hex'), answer, changed };
}

/** A client of node-redis, which runs the scripts. */
interface ScriptRunner {
  sendCommand(args: readonly string[], options: { abortSignal?: AbortSignal }): Promise<unknown>;
}

/** A caller that may give up, and whether its request can wait behind others that have no answer yet. */
export interface ScriptCaller {
  signal: AbortSignal;
  behindOthers: boolean;
}

/**
 * Runs a script by its hash, or sends it to a server that lacks it, as after a restart. Nothing is sent after the signal has
 * aborted, unless the process stood still just then.
 */
export async function runScript<T>(
  client: ScriptRunner,
  { signal, behindOthers }: ScriptCaller,
  { lua, sha, answer }: RedisScript<T>,
  { record, lease }: LockKeys,
  ...args: string[]
): Promise<T> {
  const input = ['2', record, lease, ...args];
  const recallable = { abortSignal: signal };
  // For the client a signal is more work than the rest of a request. Where nothing waits, the request leaves at once.
  const options = behindOthers ? recallable : {};
  // `evalSha` of a client made by `withAbortSignal` does the same in more steps.
  try {
    return answer.parse(await client.sendCommand(['EVALSHA', sha, ...input], options));
  } catch (error) {
    if (!(error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))) throw error;
    return answer.parse(await client.sendCommand(['EVAL', lua, ...input], recallable));
  }
}

const view = z.tuple([z.string(), z.string(), z.number(), z.number()]);
const readView = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return { redis.call('HGET', record, 'version'), redis.call('HGET', record, 'record') or '', redis.call('EXISTS', lease), now }
`;

/**
 * Each call of a lock store in one script, which Redis runs as a whole. None writes before it has compared the lease: an
 * INCR before the SET would fence out the holder.
 */
export const redisScripts = {
  look: lockScript(`if redis.call('EXISTS', record) == 0 then return false end${readView}`, view.nullable()),

  /** Argument: the version, unless the lock has one. */
  create: lockScript(`redis.call('HSETNX', record, 'version', ARGV[1])${readView}`, view),

  /** Arguments: lease id, milliseconds. */
  acquire: lockScript(
    `
if redis.call('EXISTS', record) == 0 then return 'absent' end
local holder = redis.call('GET', lease)
if holder and holder ~= ARGV[1] then return 'held' end
redis.call('SET', lease, ARGV[1], 'PX', ARGV[2])
redis.call('HDEL', record, 'broken')
return 'acquired'
`,
    z.enum(['acquired', 'held', 'absent']),
    'acquired',
  ),

  /** Arguments: lease id, expected version, record, new version. */
  raise: lockScript(
    `
local version = redis.call('HGET', record, 'version')
if not version then return 'changed' end
local holder = redis.call('GET', lease)
if holder ~= ARGV[1] then return holder and 'taken' or 'ended' end
if version ~= ARGV[2] then return 'changed' end
redis.call('HSET', record, 'record', ARGV[3], 'version', ARGV[4])
return 'raised'
`,
    z.enum(['raised', 'changed', 'taken', 'ended']),
    'raised',
  ),

  /** Arguments: lease id, milliseconds. */
  renew: lockScript(
    `
if redis.call('EXISTS', record) == 0 then return 'deleted' end
local holder = redis.call('GET', lease)
if holder == ARGV[1] then
  redis.call('PEXPIRE', lease, ARGV[2])
  return 'renewed'
end
if holder then return 'taken' end
return redis.call('HGET', record, 'broken') == ARGV[1] and 'broken' or 'ended'
`,
    z.enum(['renewed', 'deleted', 'taken', 'broken', 'ended']),
    'renewed',
  ),

  /** Argument: lease id. */
  release: lockScript(
    `
if redis.call('GET', lease) ~= ARGV[1] then return 'gone' end
redis.call('DEL', lease)
return 'released'
`,
    z.enum(['released', 'gone']),
  ),

  /** Argument: expected version. */
  break: lockScript(
    `
if redis.call('HGET', record, 'version') ~= ARGV[1] then return 'changed' end
local holder = redis.call('GET', lease)
if not holder then return 'notHeld' end
redis.call('HSET', record, 'broken', holder)
redis.call('DEL', lease)
return 'broken'
`,
    z.enum(['broken', 'notHeld', 'changed']),
    'broken',
  ),
};
