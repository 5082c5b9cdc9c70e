import { badRequest, CosmosError, notCovered } from './errors.ts';
import type { JsonObject, JsonValue } from './json.ts';

/** Splits a partition key path: `/a/b` is `['a', 'b']`. A part may be quoted. */
export function parsePath(path: string): string[] {
  const parts = [...path.matchAll(/\/(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^/]*))/g)];
  if (!path.startsWith('/') || parts.map(([whole]) => whole).join('') !== path)
    throw badRequest(`The path ${path} is invalid.`);
  const names = parts.map(([, double, single, plain]) => double ?? single ?? plain ?? '');
  if (names.includes('')) throw badRequest(`The path ${path} is invalid.`);
  return names;
}

/** Paths and limit of a container's partition key. */
export interface PartitionKeyRule {
  paths: readonly (readonly string[])[];
  /** Maximum UTF-8 bytes of one string value: 2,048, or 101 in containers of version 1. */
  maxBytes: number;
}

/** A missing value in a partition key, as the SDKs send it. */
const none = '{}';

/** The canonical text of an item's partition key: a JSON array with one value per path, e.g. `["0a"]`. */
export function partitionOfItem(item: JsonObject, { paths, maxBytes }: PartitionKeyRule): string {
  return `[${paths.map((path) => textOf(valueAt(item, path), maxBytes)).join(',')}]`;
}

/**
 * The canonical text of the partition key in a request's header.
 *
 * @param ofItem the request is for one item, which has a value for each path
 * @throws {CosmosError} 400 if it does not fit the container
 */
export function partitionOfHeader(
  header: string,
  { paths, maxBytes }: PartitionKeyRule,
  ofItem = false,
): string {
  const values = parseHeader(header);
  if (values.length === 0) return `[${paths.map(() => none).join(',')}]`;
  if (values.length < paths.length && !ofItem) throw notCovered('prefixes of hierarchical partition keys');
  if (values.length !== paths.length)
    throw badRequest('Partition key provided either does not correspond to definition in the collection.');
  return `[${values.map((value) => textOf(value, maxBytes)).join(',')}]`;
}

function parseHeader(header: string): JsonValue[] {
  try {
    const parsed: unknown = JSON.parse(header);
    // Parsed JSON holds nothing but JsonValue. A schema check would cost more than the rest of the request.
    if (Array.isArray(parsed)) return parsed as JsonValue[];
  } catch (cause) {
    throw new CosmosError(400, `Partition key ${header} is invalid.`, { cause });
  }
  throw badRequest(`Partition key ${header} is invalid.`);
}

function valueAt(item: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = item;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined;
    value = value[name];
  }
  return value;
}

function textOf(value: JsonValue | undefined, maxBytes: number): string {
  if (value === undefined) return none;
  if (typeof value === 'object' && value !== null) {
    if (!Array.isArray(value) && Object.keys(value).length === 0) return none;
    throw badRequest('Partition key values must be strings, numbers, booleans or null.');
  }
  if (typeof value === 'string' && value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes)
    throw badRequest(`Partition key value is larger than ${maxBytes} bytes.`);
  return JSON.stringify(value);
}
