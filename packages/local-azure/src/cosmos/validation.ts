import { badRequest, tooLarge } from './errors.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** Limits of the service (https://learn.microsoft.com/azure/cosmos-db/concepts-limits). */
export const limits = {
  itemIdBytes: 1023,
  resourceIdChars: 255,
  itemBytes: 2 * 1024 * 1024,
  batchBytes: 2 * 1024 * 1024,
  batchOperations: 100,
  patchOperations: 10,
  nesting: 128,
  queryBytes: 512 * 1024,
} as const;

/** In the ids of databases and containers. */
const forbiddenInResources = /[/\\?#]/;
/** In the ids of items. The service takes a question mark there. */
const forbiddenInItems = /[/\\#]/;

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
  if (forbiddenInItems.test(id)) throw forbiddenCharacter(id, '/ \\ #');
  return id;
}

/** Checks the id of a database or container. */
export function requireResourceId(id: string): void {
  if (id === '' || id.length > limits.resourceIdChars)
    throw badRequest(
      `The input name '${id}' is invalid. Ensure to provide a unique non-empty string less than '256' characters.`,
    );
  if (forbiddenInResources.test(id)) throw forbiddenCharacter(id, '/ \\ ? #');
  if (id.endsWith(' ')) throw badRequest(`The input name '${id}' is invalid. It must not end with a space.`);
}

/** @throws {CosmosError} 413 if an item's text is larger than 2 MB */
export function requireItemSize(text: string): void {
  // A UTF-16 unit is at most 3 bytes of UTF-8, so most items need no byte count.
  if (text.length * 3 > limits.itemBytes && Buffer.byteLength(text) > limits.itemBytes) throw tooLarge();
}

const forbiddenCharacter = (id: string, characters: string) =>
  badRequest(`The input name '${id}' is invalid. It must not contain any of the characters ${characters}`);

/** @throws {CosmosError} 400 if the objects and arrays in an item are nested more than 128 deep */
export function requireNesting(item: JsonObject): void {
  if (isDeeper(item, limits.nesting + 1))
    throw badRequest(`The item is nested more than ${limits.nesting} levels deep.`);
}

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** @throws {CosmosError} 400 if a query's text is larger than 512 KB */
export function requireQuerySize(text: string): void {
  if (text.length * 3 > limits.queryBytes && Buffer.byteLength(text) > limits.queryBytes)
    throw badRequest(`The SQL query text exceeded the maximum limit of ${limits.queryBytes} bytes.`);
}
