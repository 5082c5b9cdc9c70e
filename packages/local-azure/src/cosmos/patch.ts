import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { operationFailed, type PatchOperation } from './patchRequest.ts';

/** The id and the system properties cannot be patched. */
const fixed = new Set(['id', '_rid', '_self', '_etag', '_ts', '_attachments']);

/**
 * Applies the operations to an item, in order and in place. Discard the item if this throws: it is half patched.
 *
 * @param partitionKey paths that must not be patched
 * @throws {CosmosError} 400
 */
export function applyPatch(
  item: JsonObject,
  operations: readonly PatchOperation[],
  partitionKey: readonly (readonly string[])[],
): void {
  for (const [index, operation] of operations.entries()) {
    for (const path of operation.op === 'move' ? [operation.from, operation.path] : [operation.path])
      requirePatchable(path, partitionKey, index);
    applyOperation(item, operation, index);
  }
}

function requirePatchable(path: string[], partitionKey: readonly (readonly string[])[], index: number): void {
  const [root = ''] = path;
  if (fixed.has(root)) throw operationFailed(index, `The property '${root}' can't be patched.`);
  const overlaps = (key: readonly string[]) =>
    path.slice(0, key.length).every((part, at) => part === key[at]);
  if (partitionKey.some(overlaps)) throw operationFailed(index, "The partition key can't be patched.");
}

function applyOperation(item: JsonObject, operation: PatchOperation, index: number): void {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      put(item, path, operation.value, { op: 'Add', array: 'insert', index });
      return;
    case 'set':
      put(item, path, operation.value, { op: 'Set', array: 'update', index });
      return;
    case 'replace':
      if (find(item, path) === undefined)
        throw operationFailed(
          index,
          `Replace Operation only support replacing an existing node, no path found: '${path.join('/')}'`,
        );
      put(item, path, operation.value, { op: 'Replace', array: 'update', index });
      return;
    case 'incr': {
      const current = find(item, path) ?? 0;
      if (typeof current !== 'number')
        throw operationFailed(
          index,
          `Increment Operation only support number, no number found at: '${path.join('/')}'`,
        );
      put(item, path, current + operation.value, { op: 'Increment', array: 'update', index });
      return;
    }
    case 'remove':
      take(item, path, 'Remove', index);
      return;
    case 'move': {
      const value = take(item, operation.from, 'Move', index);
      put(item, path, value, { op: 'Move', array: 'insert', index });
      return;
    }
  }
}

function put(
  item: JsonObject,
  path: string[],
  value: JsonValue,
  { op, array, index }: { op: string; array: 'insert' | 'update'; index: number },
): void {
  const parent = find(item, path.slice(0, -1));
  const name = path.at(-1) ?? '';
  if (Array.isArray(parent)) {
    const at = name === '-' ? parent.length : arrayIndex(name);
    if (at === undefined || at > parent.length) throw noParent(op, path, index);
    parent.splice(at, array === 'update' ? 1 : 0, value);
  } else if (isObject(parent)) {
    setMember(parent, name, value);
  } else {
    throw noParent(op, path, index);
  }
}

function take(item: JsonObject, path: string[], op: string, index: number): JsonValue {
  const parent = find(item, path.slice(0, -1));
  const name = path.at(-1) ?? '';
  const value = find(item, path);
  if (value === undefined)
    throw operationFailed(
      index,
      `${op} Operation only support removing existing node(array or object), no path found: '${path.join('/')}'`,
    );
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else if (isObject(parent)) delete parent[name];
  return value;
}

function find(item: JsonValue, path: string[]): JsonValue | undefined {
  let value: JsonValue | undefined = item;
  for (const part of path) {
    if (Array.isArray(value)) {
      const at = arrayIndex(part);
      value = at === undefined ? undefined : value[at];
    } else {
      value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
    }
  }
  return value;
}

const arrayIndex = (part: string) => (/^(?:0|[1-9]\d*)$/.test(part) ? Number(part) : undefined);

/** Plain assignment to `__proto__` would set the prototype instead of a property. */
function setMember(parent: JsonObject, name: string, value: JsonValue): void {
  if (name !== '__proto__') parent[name] = value;
  else Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true });
}

function noParent(op: string, path: string[], index: number) {
  const missing = path.at(-2) ?? path.at(-1) ?? '';
  return operationFailed(
    index,
    `${op} Operation only support adding a leaf node of an existing node(array or object), no path found beyond: '${missing}'`,
  );
}
