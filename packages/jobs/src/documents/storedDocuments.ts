import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { OnUnreadable } from './unreadable.ts';

/**
 * The version of the documents and messages that this release writes, and the newest that it understands; what has none is
 * version 1. A release that changes what a document or message means raises it. During a rolling deployment an older
 * process leaves what is newer alone: it is not broken, and a newer process handles it.
 */
export const formatVersion: number = 1;

/** Delay before a message of a newer release is retried (ms): by then a newer process may be there to take it. */
export const resendAfterMs = 30_000;

/** True for what a newer release wrote. */
export function isNewer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('version' in value)) return false;
  return typeof value.version === 'number' && value.version > formatVersion;
}

/** A document or message of a newer release: for the processes that already run that release. */
export class NewerVersion extends Error {
  override readonly name = 'NewerVersion';

  constructor(what: string) {
    super(`${what} was written by a newer release: expected version ${formatVersion} or older`);
  }
}

/** The documents that have the right shape. Broken ones are passed over with a report, those of a newer release silently. */
export function readableDocuments<T>(
  documents: readonly unknown[],
  schema: z.ZodType<T>,
  type: string,
  onUnreadable: OnUnreadable = () => {},
): T[] {
  return documents.flatMap((document) => {
    if (isNewer(document)) return [];
    const { success, data, error } = schema.safeParse(document);
    if (success) return [data];
    const [issue] = error.issues;
    const problem = issue === undefined ? error.message : `${issue.path.join('.')}: ${issue.message}`;
    onUnreadable({ type, id: idOf(document), problem });
    return [];
  });
}

/** One document that has to have the right shape. @throws {NewerVersion} and what the schema throws */
export function readableDocument<T>(document: unknown, schema: z.ZodType<T>, type: string): T {
  if (isNewer(document)) throw new NewerVersion(`${type} "${idOf(document)}"`);
  return schema.parse(document);
}

/** An object schema that keeps fields it does not know: an older process that writes the object back drops nothing. */
export function tolerantObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}

function idOf(document: unknown): string {
  return typeof document === 'object' && document !== null && 'id' in document ? String(document.id) : '';
}

/** The id of a document of our own: no import takes an id that begins with a colon. `name` has none of / \\ ? and #. */
export function systemId(name: string): string {
  return `:${name}`;
}

/** The id of one write, which its outbox message gets. */
export function newWriteId(): string {
  return systemId(randomUUID());
}

export function isSystemId(id: string): boolean {
  return id.startsWith(':');
}

/** Bytes of UTF-8 in an id (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits). */
const longestId = 1023;

/** True if a document of Cosmos DB can have this id, and the SDK finds it again. */
export function canBeId(id: string): boolean {
  // A URL drops . and .., so the request would be for something else; the SDK takes white space for no id at all.
  if (!/^(?!\.{1,2}$)[^/\\?#]+$/.test(id) || id.trim() === '' || id.endsWith(' ')) return false;
  // The gateway decodes it before it checks the signature, and answers 401, as if the key were wrong
  // (`itemIdEncoding.spec.ts` of https://github.com/Azure/azure-sdk-for-js).
  if (/%[\da-f]{2}/i.test(id)) return false;
  return id.isWellFormed() && Buffer.byteLength(id) <= longestId;
}
