import type { z } from 'zod';

/** Part of a list. */
export interface Page<T> {
  items: T[];
  /** Opaque: pass it on to get the next page. Absent on the last page. */
  continuation?: string;
}

/** The items of all pages of a list, page by page. */
export async function* allPages<T>(
  list: (place: { continuation?: string }) => Promise<Page<T>>,
): AsyncGenerator<T[]> {
  for (let place: { continuation?: string } = {}; ;) {
    const { items, continuation } = await list(place);
    yield items;
    if (continuation === undefined) return;
    place = { continuation };
  }
}

/** The continuation is not one that a page of this list gave. */
export class BadContinuation extends Error {
  override readonly name = 'BadContinuation';
}

/** A place in the order of a list, as text without quotes and spaces, which a URL would have to escape. */
export function continuationAt(place: unknown): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The place that a continuation names. @throws {BadContinuation} */
export function placeOf<T>(schema: z.ZodType<T>, continuation: string): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(continuation, 'base64url').toString()));
  } catch (cause) {
    throw new BadContinuation('not a place in this list', { cause });
  }
}
