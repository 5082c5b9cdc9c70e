/** Changes of source files that put a fault into the app. */
import { parseSync } from 'vite';

/** A text for another, which must be in its file exactly once; or a function of that name with another body. */
export type Edit =
  | { readonly file: string; readonly from: string; readonly to: string }
  | { readonly file: string; readonly inFunction: string; readonly body: string };
type InFile<One> = One extends Edit ? Omit<One, 'file'> : never;

/** The text of a file with the edits in it. Pure. @throws {Error} if one of them does not fit exactly once */
export function edited(text: string, edits: readonly InFile<Edit>[]): string {
  return edits.reduce((before, edit) => {
    if ('inFunction' in edit) return withBody(before, edit.inFunction, edit.body);
    const found = before.split(edit.from).length - 1;
    if (found !== 1) throw new Error(`"${edit.from}" occurs ${found} times`);
    return before.replace(edit.from, () => edit.to);
  }, text);
}

interface Span {
  start: number;
  end: number;
}

function withBody(text: string, name: string, body: string): string {
  const { program, errors } = parseSync('edited.ts', text);
  if (errors.length > 0) throw new Error(`it cannot be parsed: ${errors[0]?.message}`);
  const bodies = [...bodiesOf(program, name)];
  const [only] = bodies;
  if (only === undefined || bodies.length > 1)
    throw new Error(`function ${name} occurs ${bodies.length} times`);
  return `${text.slice(0, only.start)}{ ${body} }${text.slice(only.end)}`;
}

/** Bodies of the functions and methods of that name, wherever they are. */
function* bodiesOf(node: unknown, name: string): Generator<Span> {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const one of node) yield* bodiesOf(one, name);
    return;
  }
  const { type, id, key, value, body } = node as Partial<Record<string, unknown>>;
  if (type === 'FunctionDeclaration' && nameIn(id) === name && isSpan(body)) yield body;
  const method = type === 'Property' && nameIn(key) === name ? bodyOf(value) : undefined;
  if (method !== undefined) yield method;
  for (const child of Object.values(node)) yield* bodiesOf(child, name);
}

function nameIn(node: unknown): unknown {
  return (node as { name?: unknown } | null | undefined)?.name;
}

function bodyOf(value: unknown): Span | undefined {
  const { type, body } = (value ?? {}) as { type?: unknown; body?: unknown };
  return type === 'FunctionExpression' && isSpan(body) ? body : undefined;
}

function isSpan(value: unknown): value is Span {
  return typeof value === 'object' && value !== null && 'start' in value && 'end' in value;
}
