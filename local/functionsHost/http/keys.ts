import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type AuthLevel = 'anonymous' | 'function' | 'admin';

/** The keys a host accepts. Without any (undefined) it requires none. */
export interface HostKeys {
  /** Grants access to everything. */
  master: string;
  /** Grants access to functions of level `function`. */
  host?: string | undefined;
}

/** Whether the key in the request (`x-functions-key` or `?code=`) grants access to that level. */
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
  return (
    same(given, keys.master) || (level === 'function' && keys.host !== undefined && same(given, keys.host))
  );
}

function same(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
