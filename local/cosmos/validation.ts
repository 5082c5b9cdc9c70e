import { badRequest, tooLarge } from './errors.ts';
import type { JsonObject } from './json.ts';

/** Limits of the service (https://learn.microsoft.com/azure/cosmos-db/concepts-limits). */
export const limits = {
  itemIdBytes: 1023,
  resourceIdChars: 255,
  itemBytes: 2 * 1024 * 1024,
  batchBytes: 2 * 1024 * 1024,
  batchOperations: 100,
  patchOperations: 10,
} as const;

const forbidden = /[/\\?#]/;

/**
 * The id of an item.
 *
 * @throws {CosmosError} 400 if it is missing, empty, too long or contains a forbidden character
 */
export function idOf(item: JsonObject): string {
  const { id } = item;
  if (id === undefined)
    throw badRequest("The input content is invalid because the required properties - 'id; ' - are missing");
  if (typeof id !== 'string')
    throw badRequest("The input content is invalid because the property 'id' is not a string");
  if (id === '' || (id.length * 3 > limits.itemIdBytes && Buffer.byteLength(id) > limits.itemIdBytes)) {
    throw badRequest(
      `The input name '${id}' is invalid. Ensure to provide a unique non-empty string of at most ${limits.itemIdBytes} bytes.`,
    );
  }
  if (forbidden.test(id)) throw forbiddenCharacter(id);
  return id;
}

/** Checks the id of a database or container. */
export function requireResourceId(id: string): void {
  if (id === '' || id.length > limits.resourceIdChars)
    throw badRequest(
      `The input name '${id}' is invalid. Ensure to provide a unique non-empty string less than '256' characters.`,
    );
  if (forbidden.test(id)) throw forbiddenCharacter(id);
  if (id.endsWith(' ')) throw badRequest(`The input name '${id}' is invalid. It must not end with a space.`);
}

/** @throws {CosmosError} 413 if an item's text is larger than 2 MB */
export function requireItemSize(text: string): void {
  // A UTF-16 unit is at most 3 bytes of UTF-8, so most items need no byte count.
  if (text.length * 3 > limits.itemBytes && Buffer.byteLength(text) > limits.itemBytes) throw tooLarge();
}

const forbiddenCharacter = (id: string) =>
  badRequest(`The input name '${id}' is invalid. It must not contain any of the characters / \\ ? #`);
