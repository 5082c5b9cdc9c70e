import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type AuthLevel = 'anonymous' | 'function' | 'admin';

/** The keys that open the host; undefined when keys are not asked for. */
export interface HostKeys {
  /** Opens everything. */
  master: string;
  /** Opens functions of level `function`. */
  host?: string | undefined;
}

/** Whether the key that a request brings (`x-functions-key` or `?code=`) opens that level. */
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
