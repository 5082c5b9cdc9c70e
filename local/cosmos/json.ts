import { badRequest, CosmosError } from './errors.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses the body of a request. Items and batches are checked by hand where they are used: they are arbitrary JSON, and
 * a schema library would walk every property of every item once more.
 *
 * @throws {CosmosError} 400 when it is not JSON
 */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new CosmosError(
      400,
      'Message: {"Errors":["The request payload is invalid. Ensure to provide a valid request payload."]}',
      {
        cause,
      },
    );
  }
}

export function parseObject(text: string): JsonObject {
  const value = parseJson(text);
  if (!isObject(value)) throw badRequest('The request payload is not a JSON object.');
  return value;
}
