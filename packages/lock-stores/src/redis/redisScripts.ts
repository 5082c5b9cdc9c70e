import { createHash } from 'node:crypto';
import { aNumber, aText, anyOf, orNull, type Shape } from '../answers.ts';

/** The keys of a lock: a hash that never expires, and a string that expires with the lease. Their hash tag is the same. */
export interface LockKeys {
  /** Fields: `version`; `record`, if a holder has left one; `broken`, the id of a lease that was taken away; `line`. */
  record: string;
  /** The id of the lease. */
  lease: string;
}

/** A script on the two keys of a lock. */
export interface RedisScript<T> {
  lua: string;
  /** Name of the script for EVALSHA: its SHA-1, in hex digits. */
  sha: string;
  answer: Shape<T>;
  /** True for an answer that says that it has changed the lock, in a way that a failover must not undo. */
  changed: (answer: T) => boolean;
}

function lockScript<T>(
  body: string,
  answer: Shape<T>,
  changed: (answer: T) => boolean = () => false,
): RedisScript<T> {
  const lua = `local record, lease = KEYS[1], KEYS[2]\n${body}`;
  return { lua, sha: createHash('sha1').update(lua).digest('hex'), answer, changed };
}

const is =
  <T>(wanted: T) =>
  (answer: T) =>
    answer === wanted;

/** True for an error that the server has answered: it begins with a word in capitals (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors). */
export function isRedisReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z]{2,}( |$)/.test(error.message);
}

/** Runs a script by its hash, or sends it to a server that lacks it, as after a restart. */
export async function runScript<T>(
  { lua, sha, answer }: RedisScript<T>,
  send: (command: 'EVALSHA' | 'EVAL', script: string) => Promise<unknown>,
): Promise<T> {
  try {
    return answer(await send('EVALSHA', sha));
  } catch (error) {
    if (!(isRedisReply(error) && error.message.startsWith('NOSCRIPT'))) throw error;
    return answer(await send('EVAL', lua));
  }
}

const view: Shape<readonly [version: string, record: string, leased: number, now: number]> = (value) => {
  const [version, record, leased, now] = Array.isArray(value) ? value : [];
  return [aText(version, 'version'), aText(record, 'record'), aNumber(leased, 'lease'), aNumber(now, 'time')];
};
const clock = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

const readView = `${clock}
return { redis.call('HGET', record, 'version') or '', redis.call('HGET', record, 'record') or '', redis.call('EXISTS', lease), now() }
`;

/**
 * The waiters in the order of asking: a field of the record's hash, with a ticket and the end of its place for each. A ticket
 * begins with the channel on which its process listens.
 */
const line = `
local function keptPlaces(text)
  local kept, time = {}, now()
  for _, place in ipairs(text and cjson.decode(text) or {}) do
    if place[2] > time then kept[#kept + 1] = place end
  end
  return kept
end
local function writePlaces(kept)
  if #kept > 0 then redis.call('HSET', record, 'line', cjson.encode(kept)) else redis.call('HDEL', record, 'line') end
end
`;

/** Calls the first waiter, if there is one. Argument 2 is the prefix of channels. */
const callFirst = `
local text = redis.call('HGET', record, 'line')
if text then
  ${clock}${line}
  local first = keptPlaces(text)[1]
  if first then redis.call('PUBLISH', ARGV[2] .. string.match(first[1], '^[^/]+'), first[1]) end
end
`;

/**
 * Each call of a lock store in one script, which Redis runs as a whole. None writes before it has compared the lease: an
 * INCR before the SET would fence out the holder.
 */
export const redisScripts = {
  look: lockScript(
    `if redis.call('EXISTS', record, lease) == 0 then return false end${readView}`,
    orNull(view),
  ),

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
    anyOf('acquired', 'held', 'absent'),
    is('acquired'),
  ),

  /**
   * Arguments: lease id, milliseconds, ticket or empty, milliseconds for which its place is kept, lower bound of the fence, the
   * record behind its fence or empty. Answers with the fence, 0 without one; null if the lock is held, or somebody is before.
   */
  take: lockScript(
    `${clock}
local places, last, broken = unpack(redis.call('HMGET', record, 'line', 'record', 'broken'))
if places or not redis.call('SET', lease, ARGV[1], 'PX', ARGV[2], 'NX') then
  ${line}
  local holder = redis.call('GET', lease)
  if holder ~= ARGV[1] then
    local kept, mine = keptPlaces(places), 0
    for at, place in ipairs(kept) do if place[1] == ARGV[3] then mine = at end end
    local turn = not holder and (#kept == 0 or mine == 1)
    if turn then
      if mine == 1 then table.remove(kept, 1) end
    elseif ARGV[3] ~= '' then
      kept[mine > 0 and mine or #kept + 1] = { ARGV[3], now() + ARGV[4] }
    end
    if places or #kept > 0 then writePlaces(kept) end
    if not turn then return false end
  end
  redis.call('SET', lease, ARGV[1], 'PX', ARGV[2])
end
if broken then redis.call('HDEL', record, 'broken') end
if ARGV[6] == '' then return 0 end
local before = last and string.match(last, '^{"fence":(%d+)') or 0
local fence = math.max(before + 1, now(), ARGV[5] + 1)
local digits = string.format('%.0f', fence)
redis.call('HSET', record, 'version', ARGV[1] .. ' ' .. digits, 'record', '{"fence":' .. digits .. ARGV[6])
return fence
`,
    orNull(aNumber),
    (fence) => fence !== null,
  ),

  /** Arguments: ticket, prefix of channels. */
  leave: lockScript(
    `${clock}${line}
local kept, others = keptPlaces(redis.call('HGET', record, 'line')), {}
for _, place in ipairs(kept) do if place[1] ~= ARGV[1] then others[#others + 1] = place end end
writePlaces(others)
if redis.call('GET', lease) then return 'left' end
${callFirst}
return 'left'
`,
    anyOf('left'),
  ),

  /** Argument: expected version. Deletes the lock unless it is held or waited for. */
  forget: lockScript(
    `${clock}${line}
if redis.call('EXISTS', record) == 0 then return 'forgotten' end
if redis.call('GET', lease) or #keptPlaces(redis.call('HGET', record, 'line')) > 0 then return 'held' end
if (redis.call('HGET', record, 'version') or '') ~= ARGV[1] then return 'changed' end
redis.call('DEL', record)
return 'forgotten'
`,
    anyOf('forgotten', 'held', 'changed'),
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
    anyOf('raised', 'changed', 'taken', 'ended'),
    is('raised'),
  ),

  /** Arguments: lease id, milliseconds. */
  renew: lockScript(
    `
local holder = redis.call('GET', lease)
if holder == ARGV[1] then
  redis.call('PEXPIRE', lease, ARGV[2])
  return 'renewed'
end
if redis.call('EXISTS', record) == 0 then return 'deleted' end
if holder then return 'taken' end
return redis.call('HGET', record, 'broken') == ARGV[1] and 'broken' or 'ended'
`,
    anyOf('renewed', 'deleted', 'taken', 'broken', 'ended'),
    is('renewed'),
  ),

  /** Arguments: lease id, prefix of channels. */
  release: lockScript(
    `
if redis.call('GET', lease) ~= ARGV[1] then return 'gone' end
redis.call('DEL', lease)
${callFirst}
return 'released'
`,
    anyOf('released', 'gone'),
  ),

  /** Arguments: expected version, prefix of channels. */
  break: lockScript(
    `
if (redis.call('HGET', record, 'version') or '') ~= ARGV[1] then return 'changed' end
local holder = redis.call('GET', lease)
if not holder then return 'notHeld' end
redis.call('HSET', record, 'broken', holder)
redis.call('DEL', lease)
${callFirst}
return 'broken'
`,
    anyOf('broken', 'notHeld', 'changed'),
    is('broken'),
  ),
};
