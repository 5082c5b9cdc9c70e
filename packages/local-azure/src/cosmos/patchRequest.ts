import { badRequest } from './errors.ts';
import { isObject, type JsonValue } from './json.ts';
import { limits } from './validation.ts';

/**
 * One operation of a partial document update
 * (https://learn.microsoft.com/azure/cosmos-db/partial-document-update).
 */
export type PatchOperation =
  | { op: 'add' | 'set' | 'replace'; path: string[]; value: JsonValue }
  | { op: 'incr'; path: string[]; value: number }
  | { op: 'remove'; path: string[] }
  | { op: 'move'; from: string[]; path: string[] };

export interface PatchRequest {
  operations: PatchOperation[];
  /** `FROM c WHERE …`. The patch is refused unless this selects the item. */
  condition?: string;
}

/**
 * Parses a patch body: an array of operations, or an object with `operations` and `condition`.
 *
 * @throws {CosmosError} 400
 */
export function parsePatch(body: JsonValue): PatchRequest {
  const operations = Array.isArray(body) ? body : isObject(body) ? body.operations : undefined;
  if (!Array.isArray(operations)) throw badRequest('Invalid request format: missing patch operations array.');
  if (operations.length === 0) throw badRequest('The patch has no operations.');
  if (operations.length > limits.patchOperations) {
    throw badRequest(
      `The number of patch operations can't exceed '${limits.patchOperations}'. There are ${operations.length}.`,
    );
  }
  const parsed = operations.map(parseOperation);
  if (!isObject(body) || body.condition === undefined || body.condition === null)
    return { operations: parsed };
  if (typeof body.condition !== 'string') throw badRequest('The condition of a patch must be a string.');
  return { operations: parsed, condition: body.condition };
}

function parseOperation(operation: JsonValue, index: number): PatchOperation {
  if (!isObject(operation)) throw operationFailed(index, 'The patch operation must be an object.');
  const { op, value } = operation;
  if (typeof op !== 'string') throw operationFailed(index, 'The patch operation has no op.');
  const path = parsePointer(operation.path, index);
  switch (op) {
    case 'add':
    case 'set':
    case 'replace':
      if (value === undefined) throw operationFailed(index, `The operation '${op}' needs a value.`);
      return { op, path, value };
    case 'incr':
      if (typeof value !== 'number')
        throw operationFailed(index, 'The value of an increment must be a number.');
      return { op, path, value };
    case 'remove':
      return { op, path };
    case 'move': {
      const from = parsePointer(operation.from, index);
      if (from.length <= path.length && from.every((part, at) => part === path[at]))
        throw operationFailed(index, "The path of a move can't be equal to its from or a child of it.");
      return { op, from, path };
    }
    default:
      throw operationFailed(index, `The operation type '${op}' is not supported.`);
  }
}

/** Splits a JSON pointer into its parts (RFC 6901). */
function parsePointer(pointer: JsonValue | undefined, index: number): string[] {
  if (typeof pointer !== 'string' || !/^(?:\/[^/]+)+$/.test(pointer))
    throw operationFailed(index, `The path ${JSON.stringify(pointer)} is invalid.`);
  const parts = pointer.slice(1).split('/');
  if (!pointer.includes('~')) return parts;
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Refuses one operation of a patch. Counts operations from 1, as the service does. */
export const operationFailed = (index: number, reason: string) =>
  badRequest(`For Operation(${index + 1}): ${reason}`);
