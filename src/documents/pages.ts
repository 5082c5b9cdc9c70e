/** Part of a list. */
export interface Page<T> {
  items: T[];
  /** Opaque: pass it on to get the next page. Absent on the last page. */
  continuation?: string;
}

/** The continuation is not one that a page of this list gave. */
export class BadContinuation extends Error {
  override readonly name = 'BadContinuation';
}

/** A token without quotes and spaces, which a URL would have to escape. */
export function toOpaque(token: string): string {
  return Buffer.from(token).toString('base64url');
}

export function fromOpaque(continuation: string): string {
  return Buffer.from(continuation, 'base64url').toString();
}
