import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, type ParsedBicep, parseBicep, parts } from './parseBicep.ts';

export const infraDir = fileURLToPath(new URL('../../../infra/', import.meta.url));

export interface Declared {
  name: string;
  node: Node;
  /** The expression after the equals sign; undefined for a parameter without a default. */
  value: Node | undefined;
  /** Decorator names, such as `secure`. */
  decorators: string[];
}

export interface DeclaredResource extends Declared {
  /** `Microsoft.Web/sites@2024-11-01`, or the path of a module. */
  type: string;
  existing: boolean;
  /** The object that describes the resource, inside any `for` and `if`. */
  body: Node;
}

export interface BicepFile extends ParsedBicep {
  params: Map<string, Declared>;
  vars: Map<string, Declared>;
  outputs: Map<string, Declared>;
  resources: Map<string, DeclaredResource>;
  modules: Map<string, DeclaredResource>;
}

/** Paths of all Bicep files, relative to infra/. */
export function bicepPaths(): string[] {
  return readdirSync(infraDir, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.bicep'))
    .sort();
}

/** The same without the roles of a developer, which are not the app's. */
export function appBicepPaths(): string[] {
  return bicepPaths().filter((path) => path !== developerModule);
}

export const developerModule = 'modules/developer.bicep';

/** Reads a file under infra/. */
export function readInfra(path: string): BicepFile {
  return declarationsOf(parseBicep(join(infraDir, path)));
}

export function declarationsOf(parsed: ParsedBicep): BicepFile {
  const file: BicepFile = {
    ...parsed,
    params: new Map(),
    vars: new Map(),
    outputs: new Map(),
    resources: new Map(),
    modules: new Map(),
  };
  let decorators: string[] = [];
  for (const node of parts(parsed.root)) {
    if (node.type === 'decorators') {
      decorators = parts(node).flatMap((decorator) => /^@(\w+)/.exec(decorator.text)?.[1] ?? []);
      continue;
    }
    const kind = kinds[node.type];
    if (kind !== undefined) {
      const declared = declaration(node, decorators);
      if (kind === 'resources' || kind === 'modules') file[kind].set(declared.name, resource(declared, node));
      else file[kind].set(declared.name, declared);
    }
    decorators = [];
  }
  return file;
}

const kinds: Record<string, 'params' | 'vars' | 'outputs' | 'resources' | 'modules'> = {
  parameter_declaration: 'params',
  variable_declaration: 'vars',
  output_declaration: 'outputs',
  resource_declaration: 'resources',
  module_declaration: 'modules',
};

function declaration(node: Node, decorators: string[]): Declared {
  const [name, ...others] = parts(node);
  const equals = node.children.findIndex((child) => child?.type === '=');
  const after =
    equals < 0
      ? undefined
      : others.find((part) => part.startIndex > (node.children[equals]?.startIndex ?? 0));
  return { name: name?.text ?? '', node, value: after, decorators };
}

function resource(declared: Declared, node: Node): DeclaredResource {
  const type = parts(node)[1]?.text.slice(1, -1) ?? '';
  const existing = node.children.some((child) => child?.type === 'existing');
  return { ...declared, type, existing, body: bodyOf(declared.value ?? node) };
}

/** The object inside `[for …: { }]` or `if (…) { }`. */
function bodyOf(node: Node): Node {
  if (node.type === 'for_statement') return bodyOf(node.childForFieldName('body') ?? node);
  if (node.type === 'if_statement') return parts(node).at(-1) ?? node;
  return node;
}

/** Properties of an object node: unquoted name → value. */
export function propertiesOf(object: Node): Map<string, Node> {
  return new Map(
    parts(object).flatMap((property) => {
      const [key, value] = parts(property);
      return key === undefined || value === undefined ? [] : [[key.text.replace(/^'|'$/g, ''), value]];
    }),
  );
}
