import { type Node, parts } from './parseBicep.ts';
import { type BicepFile, propertiesOf } from './readBicep.ts';

/** A value that only Azure knows, such as a resource id. Keeps its source text. */
export class Unknown {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Value = string | number | boolean | null | Unknown | Value[] | { [name: string]: Value };
type Scope = ReadonlyMap<string, Value>;

/**
 * The value of a variable in a file. Parameters resolve to `given`, then to their default, or stay unknown.
 * `given` holds environment variables as `$NAME`.
 */
export function variableValue(file: BicepFile, name: string, given: Record<string, Value> = {}): Value {
  const variable = file.vars.get(name);
  if (variable?.value === undefined) throw new Error(`${file.file} has no variable ${name}`);
  return evaluate(variable.value, file, given);
}

export function evaluate(
  node: Node,
  file: BicepFile,
  given: Record<string, Value> = {},
  local: Scope = new Map(),
): Value {
  const inner = (child: Node | null | undefined, scope: Scope = local): Value =>
    child === null || child === undefined ? new Unknown(node.text) : evaluate(child, file, given, scope);
  switch (node.type) {
    case 'string':
      return text(node, inner);
    case 'number':
      return Number(node.text);
    case 'boolean':
      return node.text === 'true';
    case 'null':
      return null;
    case 'array':
      return parts(node).map((part) => inner(part));
    case 'object':
      return Object.fromEntries([...propertiesOf(node)].map(([name, value]) => [name, inner(value)]));
    case 'for_statement': {
      const [variables, list, body] = parts(node);
      const elements = inner(list);
      if (variables === undefined || !Array.isArray(elements)) return new Unknown(node.text);
      const [element, index] = variables.type === 'for_loop_parameters' ? parts(variables) : [variables];
      return elements.map((value, position) =>
        inner(body, new Map([...local, [element?.text ?? '', value], [index?.text ?? '', position]])),
      );
    }
    case 'parenthesized_expression':
      return inner(parts(node)[0]);
    case 'identifier':
      return named(node, file, given, local);
    case 'member_expression': {
      const object = inner(node.childForFieldName('object'));
      const property = node.childForFieldName('property')?.text ?? '';
      if (object instanceof Unknown || !isRecord(object)) return new Unknown(node.text);
      return object[property] ?? null;
    }
    case 'subscript_expression': {
      const [list, index] = parts(node).map((part) => inner(part));
      const element = Array.isArray(list) && typeof index === 'number' ? list[index] : undefined;
      return element ?? new Unknown(node.text);
    }
    case 'ternary_expression': {
      const condition = inner(node.childForFieldName('condition'));
      if (typeof condition !== 'boolean') return new Unknown(node.text);
      return inner(node.childForFieldName(condition ? 'consequence' : 'alternative'));
    }
    case 'binary_expression':
      return binary(node, inner);
    case 'unary_expression': {
      const argument = inner(node.childForFieldName('argument'));
      return typeof argument === 'boolean' ? !argument : new Unknown(node.text);
    }
    case 'call_expression':
      return call(node, inner, local, given);
    default:
      return new Unknown(node.text);
  }
}

function text(node: Node, inner: (child: Node) => Value): string {
  // Multi-line strings have no interpolation, and drop a line break directly after the opening quotes.
  if (node.text.startsWith("'''")) return node.text.slice(3, -3).replace(/^\r?\n/, '');
  // White space alone is no part.
  if (!node.text.includes('${')) return node.text.slice(1, -1);
  return parts(node)
    .map((part) => {
      if (part.type !== 'interpolation') return part.text;
      const expression = parts(part)[0];
      const value = expression === undefined ? '' : inner(expression);
      return value instanceof Unknown
        ? `<${value.text}>`
        : typeof value === 'string'
          ? value
          : JSON.stringify(value);
    })
    .join('');
}

function named(node: Node, file: BicepFile, given: Record<string, Value>, local: Scope): Value {
  const name = node.text;
  const bound = local.get(name) ?? given[name];
  if (bound !== undefined) return bound;
  const declared = file.vars.get(name) ?? file.params.get(name);
  return declared?.value === undefined ? new Unknown(name) : evaluate(declared.value, file, given);
}

function binary(node: Node, inner: (child: Node | null) => Value): Value {
  const left = inner(node.childForFieldName('left'));
  const right = inner(node.childForFieldName('right'));
  const operator = node.childForFieldName('operator')?.text;
  if (left instanceof Unknown || right instanceof Unknown) return new Unknown(node.text);
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  if (operator === '&&') return left === true && right === true;
  if (typeof left !== 'number' || typeof right !== 'number') return new Unknown(node.text);
  if (operator === '*') return left * right;
  if (operator === '+') return left + right;
  if (operator === '-') return left - right;
  if (operator === '>=') return left >= right;
  if (operator === '>') return left > right;
  return new Unknown(node.text);
}

/** Supports only the functions that the compared values use; any other call stays unknown. */
function call(
  node: Node,
  inner: (child: Node, scope?: Scope) => Value,
  local: Scope,
  given: Record<string, Value>,
): Value {
  const name = node.childForFieldName('function')?.text;
  const [first, second, third] = parts(node.childForFieldName('arguments') ?? node);
  if (first === undefined) return new Unknown(node.text);
  const value = inner(first);
  if (value instanceof Unknown) return value;
  if (name === 'readEnvironmentVariable' && typeof value === 'string')
    return given[`$${value}`] ?? (second === undefined ? '' : inner(second));
  if (name === 'int' && typeof value === 'string') return Number(value);
  if (name === 'dateTimeToEpoch' && typeof value === 'string') return Date.parse(value) / 1000;
  if (name === 'split' && typeof value === 'string' && second !== undefined) {
    const separator = inner(second);
    return typeof separator === 'string' ? value.split(separator) : new Unknown(node.text);
  }
  if (name === 'toLower' && typeof value === 'string') return value.toLowerCase();
  if (name === 'string') return typeof value === 'string' ? value : JSON.stringify(value);
  if (name === 'empty') return Object.keys(value ?? {}).length === 0;
  if (name === 'items' && isRecord(value))
    return Object.entries(value).map(([key, entry]) => ({ key, value: entry }));
  if (name === 'concat' && second !== undefined) {
    const more = inner(second);
    return Array.isArray(value) && Array.isArray(more) ? [...value, ...more] : new Unknown(node.text);
  }
  if (name === 'union' && second !== undefined) {
    const more = inner(second);
    return isRecord(value) && isRecord(more) ? { ...value, ...more } : new Unknown(node.text);
  }
  if (Array.isArray(value) && second?.type === 'lambda_expression') {
    const [variable, body] = parts(second);
    if (variable === undefined || body === undefined) return new Unknown(node.text);
    const applied = (element: Value) => inner(body, new Map([...local, [variable.text, element]]));
    if (name === 'map') return value.map(applied);
    if (name === 'filter') return value.filter((element) => applied(element) === true);
  }
  if (name === 'replace' && second !== undefined && third !== undefined && typeof value === 'string') {
    const [from, to] = [inner(second), inner(third)];
    if (typeof from === 'string' && typeof to === 'string') return value.replaceAll(from, to);
  }
  return new Unknown(node.text);
}

export function isRecord(value: Value): value is { [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Unknown);
}
