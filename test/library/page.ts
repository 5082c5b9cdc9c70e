import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An export of a package in the table of its README, with the client that it needs. */
export interface Listed {
  name: string;
  client: string | undefined;
}

/** The rows of that table, such as "`@payonce/leases/blob` | what it is | `@azure/storage-blob`". */
export function readExports(path: string): Listed[] {
  const rows = textOf(path).matchAll(/^\| `(@payonce\/[\w/-]+)` \| [^|]+ \| (?:`([^`]+)` )?\|$/gm);
  return [...rows].map(([, name = '', client]) => ({ name, client }));
}

/** Collects the output of a program from the comments at the ends of its lines: `console.log(1); // → 1`. */
export function expectedOutput(code: string): string {
  return [...code.matchAll(/\/\/ → (.+)$/gm)].map(([, line]) => line).join('\n');
}

/** The names that code imports: ours, and other packages. */
export function importedBy(code: string): { ours: string[]; packages: string[] } {
  const names = [...code.matchAll(/^import .* from '([^']+)';$/gm)].map(([, name = '']) => name);
  const isOurs = (name: string) => name.startsWith('@payonce/');
  return {
    ours: names.filter(isOurs),
    packages: names.filter((name) => !isOurs(name) && !name.startsWith('node:')),
  };
}

/** A command in a page, and what it prints according to that page. */
export interface Shown {
  command: string;
  output: string;
}

/**
 * Packages, files and commands that a page of the documentation asks its reader to install, to write and to
 * run.
 */
export interface Page {
  /** Packages besides ours. */
  packages: readonly string[];
  /** By file name. */
  files: ReadonlyMap<string, string>;
  shown: readonly Shown[];
}

/**
 * Reads a page. Of its fenced blocks, those of code whose first line is a comment with a file name are files; `npm install`
 * in `sh` names the packages; and `console` shows commands with their output.
 */
export function readPage(path: string): Page {
  const blocks = [...textOf(path).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, kind = '', code = '']) => ({
      kind,
      code,
    }),
  );
  const of = (kind: string) => blocks.filter((block) => block.kind === kind).map(({ code }) => code);
  const code = [...of('ts'), ...of('js')];
  return {
    packages: of('sh').flatMap(installedBy),
    files: new Map(code.flatMap((one) => fileIn(one) ?? [])),
    shown: of('console').flatMap(shownIn),
  };
}

function textOf(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
}

function installedBy(commands: string): string[] {
  return [...commands.matchAll(/^npm install (.+)$/gm)].flatMap(([, names = '']) =>
    names.split(' ').filter((name) => !name.startsWith('./')),
  );
}

function fileIn(code: string): [string, string][] | undefined {
  const [, name] = /^\/\/ ([\w./-]+\.m?[jt]s)\n/.exec(code) ?? [];
  return name === undefined ? undefined : [[name, code]];
}

function shownIn(text: string): Shown[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((one) => {
      const [command = '', ...output] = one.trimEnd().split('\n');
      return { command, output: output.join('\n') };
    });
}
