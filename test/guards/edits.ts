/**
 * Changes of source files that put a fault into the app. They name what they change, wherever it stands: the text of a file may be
 * written anew, and the file may move. Parsed by Vite: the package of TypeScript 7 has no parser that can be called in this process.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

/**
 * `of`: the name of a function, method or constant. A name at the top level of a file comes before the same name inside a function;
 * `outer.inner` names one that is inside another. `beside`: a name at the top level of the same file, where one is not enough.
 */
export type Edit =
  /** Another body, which may call what the function was as `original`, and give it `...arguments` unless it is an arrow function. */
  | { readonly of: string; readonly beside?: string; readonly body: string }
  /** Another value of a constant. */
  | { readonly of: string; readonly beside?: string; readonly value: string }
  /** A text for another, which must be in its file exactly once. For faults inside a function that no name tells apart. */
  | { readonly file: string; readonly from: string; readonly to: string };

export interface Source {
  /** From the root of the project. */
  file: string;
  text: string;
}

const project = fileURLToPath(new URL('../../', import.meta.url));

/** The files in which an edit may be. */
export function sourcesOf(root: string = project): Source[] {
  return globSync(['src/**/*.ts', 'packages/{leases,lock-stores,jobs}/src/**/*.ts', 'scripts/**/*.ts'], {
    cwd: root,
  }).map((file) => ({
    file: file.replaceAll('\\', '/'),
    text: readFileSync(join(root, file), 'utf8'),
  }));
}

/** The files that the edits change, as they are then. Pure. @throws {Error} if one of them fits no place, or several */
export function edited(sources: readonly Source[], edits: readonly Edit[]): Source[] {
  const changed = new Map<string, Source>();
  for (const edit of edits) {
    const now = sources.map((source) => changed.get(source.file) ?? source);
    const after = 'of' in edit ? withNamed(now, edit) : withText(now, edit);
    changed.set(after.file, after);
  }
  return [...changed.values()];
}

function withText(sources: readonly Source[], { file, from, to }: Extract<Edit, { from: string }>): Source {
  const text = sources.find((source) => source.file === file)?.text;
  if (text === undefined) throw new Error(`there is no ${file}`);
  const found = text.split(from).length - 1;
  if (found !== 1) throw new Error(`"${from}" occurs ${found} times in ${file}`);
  return { file, text: text.replace(from, () => to) };
}

function withNamed(sources: readonly Source[], edit: Extract<Edit, { of: string }>): Source {
  const path = edit.of.split('.');
  const { beside } = edit;
  const kind = 'body' in edit ? 'function' : 'constant';
  const all = sources
    .filter(({ text }) => [...path, beside ?? ''].every((name) => text.includes(name)))
    .map((source) => ({ source, named: namedIn(source) }))
    .filter(({ named }) =>
      named.some((one) => beside === undefined || (one.name === beside && one.inside.length === 0)),
    )
    .flatMap(({ source, named }) => named.map((found) => ({ source, ...found })))
    .filter((found) => found.kind === kind && isNamed(found, path));
  const outermost = all.filter(({ inside }) => inside.length === 0);
  const fitting = outermost.length > 0 ? outermost : all;
  const [only] = fitting;
  if (only === undefined) throw new Error(`there is no ${kind} ${edit.of}`);
  if (fitting.length > 1) {
    const places = fitting.map(({ source, inside }) => [source.file, ...inside].join(' > '));
    throw new Error(`${kind} ${edit.of} occurs ${fitting.length} times: ${places.join(', ')}`);
  }
  const { source, at } = only;
  const code = 'body' in edit ? newBody(source.text, only, edit.body) : edit.value;
  return { ...source, text: `${source.text.slice(0, at.start)}${code}${source.text.slice(at.end)}` };
}

/** The names before the last one are those of functions around it; there may be others in between. */
function isNamed({ name, inside }: Named, path: readonly string[]): boolean {
  if (name !== path.at(-1)) return false;
  let from = 0;
  return path.slice(0, -1).every((outer) => {
    from = inside.indexOf(outer, from) + 1;
    return from > 0;
  });
}

function newBody(text: string, { at, head }: Named, body: string): string {
  if (!/\boriginal\b/.test(body)) return `{ ${body} }`;
  const old = text.slice(at.start, at.end);
  const was = `const was = ${head}${old};`;
  const call = 'const original = (...given: any): ReturnType<typeof was> => (was as any)(...given);';
  return `{ ${was} ${call} ${body} }`;
}

interface Span {
  start: number;
  end: number;
}

interface Named {
  kind: 'function' | 'constant';
  name: string;
  /** Names of the functions around it, the outermost first. */
  inside: readonly string[];
  /** The body of a function, the value of a constant. */
  at: Span;
  /** Before the body, where the same function is written as an expression. */
  head: string;
}

const functionTypes = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

type Node = Span & Record<string, unknown> & { type: string };

/** Everything in a file that has a name. */
function namedIn({ file, text }: Source): Named[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const found: Named[] = [];
  visit(program, []);
  return found;

  function visit(value: unknown, inside: readonly string[]): void {
    if (Array.isArray(value)) {
      for (const one of value) visit(one, inside);
      return;
    }
    if (!isNode(value)) return;
    const name = nameOf(value);
    if (name !== undefined) note(name, value, inside);
    const within = name !== undefined && isNode(functionOf(value)) ? [...inside, name] : inside;
    for (const child of Object.values(value)) visit(child, within);
  }

  function note(name: string, node: Node, inside: readonly string[]): void {
    const made = functionOf(node);
    if (isNode(made)) {
      const { body } = made;
      if (isNode(body)) found.push({ kind: 'function', name, inside, at: body, head: headOf(made) });
    } else if (node.type === 'VariableDeclarator' && isNode(node.init)) {
      found.push({ kind: 'constant', name, inside, at: node.init, head: '' });
    }
  }

  function headOf({ async, generator, params, returnType }: Node): string {
    const source = ({ start, end }: Span) => text.slice(start, end);
    const before = async === true ? 'async ' : '';
    const head = `(${(params as Node[]).map(source).join(', ')})${isNode(returnType) ? source(returnType) : ''}`;
    return generator === true ? `${before}function* ${head} ` : `${before}${head} => `;
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function nameOf({ type, id, key }: Node): string | undefined {
  const named = type === 'FunctionDeclaration' || type === 'VariableDeclarator' ? id : key;
  return isNode(named) && typeof named.name === 'string' ? named.name : undefined;
}

/** The function that a declaration, a property or a method gives a name to. */
function functionOf(node: Node): unknown {
  const made = node.type === 'FunctionDeclaration' ? node : (node.init ?? node.value);
  return isNode(made) && functionTypes.includes(made.type) ? made : undefined;
}
