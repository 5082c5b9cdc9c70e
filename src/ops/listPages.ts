import { createHash } from 'node:crypto';
import type { Page } from '@payonce/jobs/documents';
import { z } from 'zod';
import type { OpsResponse } from './requests.ts';

export function pageAnswer<const Name extends string, Item, View>(
  name: Name,
  { items, continuation }: Page<Item>,
  view: (item: Item) => View,
) {
  const list = { [name]: items.map(view) } as Record<Name, View[]>;
  return { ...list, continuation: continuation ?? null };
}

/** A continuation as callers get it: with a checksum, so that one that is mutilated or of another list is refused at once. */
export function sealed(list: string, continuation: string): string {
  const sum = createHash('sha256')
    .update(JSON.stringify([list, continuation]))
    .digest('base64url');
  return `${sum.slice(0, 12)}.${continuation}`;
}

/** Undoes `sealed`; undefined for a text that it did not make. */
export function unsealed(list: string, given: string): string | undefined {
  const continuation = given.slice(given.indexOf('.') + 1);
  return sealed(list, continuation) === given ? continuation : undefined;
}

export function withSealedPlace(list: string, answer: OpsResponse): OpsResponse {
  const place = z.object({ continuation: z.string() }).safeParse(answer.jsonBody).data;
  if (place === undefined) return answer;
  const continuation = sealed(list, place.continuation);
  return { ...answer, jsonBody: { ...(answer.jsonBody as object), continuation } };
}
