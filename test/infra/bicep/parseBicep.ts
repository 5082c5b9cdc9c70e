import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { Language, type Node, Parser } from 'web-tree-sitter';

export type { Node };

export interface ParsedBicep {
  /** File name, for messages. */
  file: string;
  root: Node;
  /** Syntax errors as `line:column what`, both counted from 1. */
  errors: string[];
}

const parser = await bicepParser();

/** Parses a Bicep or a bicepparam file. */
export function parseBicep(path: string): ParsedBicep {
  const text = readFileSync(path, 'utf8');
  // The grammar supports `param name type = value` but not the `param name = value` of a parameter file, so
  // parse that as `var`.
  return parseBicepText(
    basename(path),
    path.endsWith('.bicepparam') ? text.replace(/^param (?=\w+ =)/gm, 'var   ') : text,
  );
}

export function parseBicepText(file: string, text: string): ParsedBicep {
  const tree = parser.parse(text);
  if (tree === null) throw new Error(`${file}: the parser returned no tree`);
  const errors: string[] = [];
  for (const node of descendants(tree.rootNode)) {
    const at = `${node.startPosition.row + 1}:${node.startPosition.column + 1}`;
    if (node.isMissing) errors.push(`${at} missing ${node.type}`);
    else if (node.isError) errors.push(`${at} unexpected ${JSON.stringify(node.text.slice(0, 40))}`);
  }
  return { file, root: tree.rootNode, errors };
}

/** The node and all its descendants, in text order. */
export function* descendants(node: Node): Generator<Node> {
  yield node;
  for (const child of node.children) if (child !== null) yield* descendants(child);
}

/** The named children, without comments. */
export function parts(node: Node): Node[] {
  return node.namedChildren.filter((child): child is Node => child !== null && child.type !== 'comment');
}

async function bicepParser(): Promise<Parser> {
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve('tree-sitter-bicep/package.json');
  const language = await Language.load(
    readFileSync(grammar.replace(/package\.json$/, 'tree-sitter-bicep.wasm')),
  );
  return new Parser().setLanguage(language);
}
