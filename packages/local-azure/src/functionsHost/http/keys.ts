import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** `durable`: the webhooks of Durable Functions. */
export type AuthLevel = 'anonymous' | 'function' | 'admin' | 'durable';

/** The keys a host accepts. Without any (undefined) it requires none. */
export interface HostKeys {
  /** Grants access to everything. */
  master: string;
  /** Grants access to functions of level `function`. */
  host?: string | undefined;
  /** Grants access to the webhooks of Durable Functions; the real host calls it the system key `durabletask_extension`. */
  durable: string;
}

/** True if the key in the request (`x-functions-key` or `?code=`) grants access to that level. */
export function isAllowed(
  keys: HostKeys | undefined,
  level: AuthLevel,
  request: IncomingMessage,
  url: URL,
): boolean {
  if (keys === undefined || level === 'anonymous') return true;
  const header = request.headers['x-functions-key'];
  const given = (typeof header === 'string' ? header : undefined) ?? url.searchParams.get('code');
  if (given === null) return false;
  const ofLevel = { function: keys.host, durable: keys.durable, admin: undefined }[level];
  return same(given, keys.master) || (ofLevel !== undefined && same(given, ofLevel));
}

function same(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
