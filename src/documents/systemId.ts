import { randomUUID } from 'node:crypto';

/**
 * The id of a document of our own that is stored beside what others name: no import takes an id that begins with a colon, so
 * none is ever in the way. `name`: without the characters / \\ ? and #, which Cosmos DB refuses in an id.
 */
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
