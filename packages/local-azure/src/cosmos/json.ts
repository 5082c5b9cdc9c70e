import { badRequest, CosmosError } from './errors.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses a request body. Items and batches are checked without a schema where they are used: they are
 * arbitrary JSON, and a schema library would walk every property of every item again.
 *
 * @throws {CosmosError} 400 if it is not JSON
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
  if (!isObject(value)) throw badRequest('The request payload must be a JSON object.');
  return value;
}

/** The value of a text from outside, for a schema to check. Undefined if it is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
