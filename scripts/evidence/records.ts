import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { parseSync } from 'rolldown/utils';
import { z } from 'zod';
import { type EvidenceRow, evidenceRows } from './rows.ts';

export const projectFolder = fileURLToPath(new URL('../../', import.meta.url));
const run = z.strictObject({
  command: z.string(),
  /** Beginning (ISO 8601, UTC). */
  at: z.string(),
  /** Commit, with a `+` if files had been changed since. */
  revision: z.string(),
  seconds: z.number(),
  cores: z.int(),
  memoryGb: z.int(),
  node: z.string(),
  exitCode: z.int(),
  result: z.array(z.string()),
  /** Schedules of the simulation. */
  seeds: z.strictObject({ from: z.int(), count: z.int() }).exactOptional(),
});
export type EvidenceRun = z.infer<typeof run>;

const record = z.strictObject({
  /** Hash of the files that the runs were about. */
  files: z.string(),
  /** All runs on these files, the latest last. */
  runs: z.array(run).min(1),
});
export type EvidenceRecord = z.infer<typeof record>;

export function recordFile(name: string): string {
  return join(projectFolder, 'docs/evidence', `${name}.json`);
}

/** The runs of a row; undefined if there is none yet. */
export function readRecord(name: string): EvidenceRecord | undefined {
  const file = recordFile(name);
  return existsSync(file) ? record.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
}

const contents = new Map<string, string>();

type RowFiles = Pick<EvidenceRow, 'files' | 'except'>;

/** Hash of the names of the files that a row is about, and of their code without comments. */
export function hashOfFiles(of: RowFiles, isFresh = false): string {
  if (isFresh) contents.clear();
  const hash = createHash('sha256');
  for (const name of filesOf(of, projectFolder, codeOf)) hash.update(`${name}\n${codeOf(name)}\n`);
  return hash.digest('hex').slice(0, 16);
}

function codeOf(name: string): string {
  const code = contents.get(name) ?? withoutComments(name, readFileSync(join(projectFolder, name), 'utf8'));
  contents.set(name, code);
  return code;
}

/**
 * Files that match, and all that they import, start or read, directly or not: everything of the project that a TypeScript file
 * names by a relative path. Tests of the code are left out.
 */
export function filesOf(
  { files, except = [] }: RowFiles,
  folder: string,
  read = (name: string) => readFileSync(join(folder, name), 'utf8'),
): string[] {
  const matching = (globs: readonly string[]) =>
    new Set(globSync([...globs], { cwd: folder }).map((name) => name.replaceAll('\\', '/')));
  const [names, left] = [matching(files), matching(except)];
  for (const name of names) {
    if (/\.test\.tsx?$/.test(name) || left.has(name)) names.delete(name);
    else if (/\.tsx?$/.test(name)) {
      for (const [, path = ''] of read(name).matchAll(/'(\.{1,2}\/[^'\s]+\.(?:tsx?|json))'/g)) {
        const named = posix.join(posix.dirname(name), path);
        if (existsSync(join(folder, named))) names.add(named);
      }
    }
  }
  return [...names].toSorted();
}

/** Another word in a comment makes no run older. Indentation and blank lines go with them. */
export function withoutComments(name: string, text: string): string {
  if (!name.endsWith('.ts')) return text.replaceAll('\r\n', '\n');
  const parts: string[] = [];
  let from = 0;
  for (const { start, end } of parseSync(name, text).comments) {
    parts.push(text.slice(from, start));
    from = end;
  }
  return [...parts, text.slice(from)].join('').replaceAll(/\s*\n\s*/g, '\n');
}

/** A row with what is known of it. */
export interface KnownRow extends EvidenceRow {
  name: string;
  record: EvidenceRecord | undefined;
  /** Hash of its files now. */
  filesNow: string;
}

/** Every row with its record. */
export function knownRows(): KnownRow[] {
  return Object.entries(evidenceRows).map(([name, row]) => ({
    ...row,
    name,
    record: readRecord(name),
    filesNow: hashOfFiles(row),
  }));
}

/** Lines that are kept of a run: of a result, and the last ones of a failure. */
const [mostLines, lastLines] = [150, 15];

/** Runs a command and shows its output. Returns what is kept of it; undefined if it was stopped by a signal. */
export async function runForEvidence(
  command: string,
  result: RegExp,
  seeds?: { from: number; count: number },
  show: (line: string) => void = console.log,
): Promise<EvidenceRun | undefined> {
  const full = seeds === undefined ? command : `${command} --from ${seeds.from} --seeds ${seeds.count}`;
  show(`> ${full}`);
  const at = new Date().toISOString();
  const started = performance.now();
  const revision = revisionNow();
  const child = spawn(`${full} 2>&1`, {
    shell: true,
    cwd: projectFolder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    show(line);
    lines.push(stripVTControlCharacters(line).trimEnd());
  }
  const exitCode = await closed;
  if (exitCode === null) return undefined;
  // npm names the script first.
  const found = lines.filter((line) => result.test(line) && !line.startsWith('> '));
  const failed = exitCode !== 0 || found.length === 0;
  const ending = failed ? lines.slice(-lastLines) : [];
  return {
    command: full,
    at,
    revision,
    seconds: Math.round((performance.now() - started) / 1000),
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version.slice(1),
    exitCode,
    result: [...found.slice(-mostLines).filter((line) => !ending.includes(line)), ...ending],
    ...(seeds === undefined ? {} : { seeds }),
  };
}

/** Adds a run to the record of a row. Runs on other files are dropped. */
export function addRun(name: string, files: string, run: EvidenceRun): void {
  const earlier = readRecord(name);
  const runs = [...(earlier?.files === files ? earlier.runs : []), run];
  mkdirSync(dirname(recordFile(name)), { recursive: true });
  writeFileSync(recordFile(name), `${JSON.stringify({ files, runs }, undefined, 2)}\n`);
}

function revisionNow(): string {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: projectFolder, encoding: 'utf8' }).stdout ?? '';
  const commit = git('rev-parse', '--short=10', 'HEAD').trim();
  const changed = git('status', '--porcelain', '--', '.', ':!docs').trim();
  return commit === '' ? 'unknown' : `${commit}${changed === '' ? '' : '+'}`;
}
