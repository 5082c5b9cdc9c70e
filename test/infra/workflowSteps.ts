import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { removeFolder } from '../support/removeFolder.ts';

/** A job of a workflow, as far as it runs here. */
export const workflowJob = z.object({
  env: z.record(z.string(), z.string()).default({}),
  steps: z.array(
    z.object({
      id: z.string().optional(),
      name: z.string().optional(),
      run: z.string().optional(),
      env: z.record(z.string(), z.string()).default({}),
    }),
  ),
});

/** A program that a step called: its command line, and the variables that the workflow has set for it. */
export interface Called {
  command: string;
  env: Record<string, string>;
}

export interface JobRun {
  called: Called[];
  /** The step that failed, and what it said; the steps after it did not run. */
  failed?: { step: string; output: string };
  /** Outputs that the steps have written for later ones. */
  outputs: Record<string, Record<string, string>>;
}

export interface JobOptions {
  /** Output of a program, by the beginning of its command line. */
  answers?: Record<string, string>;
  /** Beginning of the command line of a program that fails. */
  failing?: string;
  /** Beginnings of command lines that are run for real, in a folder with the files of this project. */
  real?: readonly string[];
  /** Files that an action has brought, by path. */
  files?: Record<string, string>;
  /** Outputs of the jobs that this one needs. */
  needs?: Record<string, string>;
  /** Variables of the runner. */
  runner?: Record<string, string>;
}

/** Programs that only the runner of a workflow has, or that would change something. */
const standIns = ['az', 'gh', 'npm', 'npx', 'docker', 'sudo', 'curl', 'nohup'];
const project = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs the steps of a job one after the other, as a runner does: `bash -e`, the job's and the step's variables, outputs in a
 * file. Stand-ins take the place of the programs that reach out, and write down how they were called; whatever else a step
 * calls (jq, sha256sum, openssl) is the real thing.
 */
export async function runJob(
  job: z.infer<typeof workflowJob>,
  { answers = {}, failing, real = [], files = {}, needs = {}, runner = {} }: JobOptions = {},
): Promise<JobRun> {
  const folder = mkdtempSync(join(tmpdir(), 'workflow-'));
  try {
    const log = join(folder, 'called');
    writeFileSync(log, '');
    const bin = writeStandIns(folder, { log, answers, failing, real });
    if (real.length > 0)
      for (const name of ['package.json', 'node_modules', 'scripts', 'src', 'infra'])
        symlinkSync(join(project, name), join(folder, name));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const outputs: JobRun['outputs'] = {};
    const called = () => readFileSync(log, 'utf8').split(record).filter(Boolean).map(parseCall);
    for (const [index, { id, name, run, env }] of job.steps.entries()) {
      if (run === undefined) continue;
      const file = join(folder, `output-${index}`);
      writeFileSync(file, '');
      const given = Object.entries({ ...job.env, ...env }).map(([key, text]) => [
        key,
        filledIn(text, outputs, needs),
      ]);
      const { status, output } = await bash(run, folder, {
        ...runner,
        ...(Object.fromEntries(given) as Record<string, string>),
        PATH: [bin, process.env.PATH ?? ''].join(delimiter),
        GITHUB_OUTPUT: file,
        GITHUB_ENV: file,
      });
      const step = name ?? run;
      if (status !== 0) return { called: called(), failed: { step, output }, outputs };
      outputs[id ?? `${index}`] = parseOutputs(readFileSync(file, 'utf8'));
    }
    return { called: called(), outputs };
  } finally {
    await removeFolder(folder);
  }
}

function bash(script: string, cwd: string, env: Record<string, string>) {
  return new Promise<{ status: number | null; output: string }>((resolve, reject) => {
    // With a socket as its input, bash takes itself for a remote shell and reads the developer's own settings.
    const child = spawn('bash', ['--norc', '-e', '-c', script], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    let output = '';
    child.stdout.on('data', (text) => (output += String(text)));
    child.stderr.on('data', (text) => (output += String(text)));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output }));
  });
}

/** The expressions that our workflows use. `vars` and `inputs` are their own names, secrets are not set. */
function filledIn(text: string, outputs: JobRun['outputs'], needs: Record<string, string>): string {
  return text.replaceAll(/\$\{\{ *(.*?) *\}\}/g, (_, expression: string) => {
    const [scope = '', ...path] = expression.split('.');
    if (scope === 'vars' || scope === 'inputs' || scope === 'matrix') return path.join('.');
    if (expression === 'github.token' || expression === 'github.repository') return expression;
    if (scope === 'secrets') return '';
    if (scope === 'runner') return 'true';
    const [step = '', kind, name = ''] = path;
    if (scope === 'needs') return needs[name] ?? '';
    if (scope === 'steps' && kind === 'outputs') return outputs[step]?.[name] ?? '';
    throw new Error(`an expression that nothing here knows: ${expression}`);
  });
}

function parseOutputs(text: string): Record<string, string> {
  const lines = text.split('\n').filter(Boolean);
  return Object.fromEntries(lines.map((line) => [line.replace(/=.*/s, ''), line.replace(/^[^=]*=/, '')]));
}

/** Between the parts of an entry, and behind it. */
const [unit, record] = ['\x1f', '\x1e'];
/** Variables of the shell itself. */
const ofShell = new Set(['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_', 'GITHUB_OUTPUT', 'GITHUB_ENV']);

function parseCall(entry: string): Called {
  const [command = '', variables = ''] = entry.split(unit);
  const pairs = variables
    .split('\0')
    .filter(Boolean)
    .map((pair) => [pair.replace(/=.*/s, ''), pair.replace(/^[^=]*=/, '')] as const);
  return { command, env: Object.fromEntries(pairs.filter(([name]) => !ofShell.has(name))) };
}

function writeStandIns(
  folder: string,
  {
    log,
    answers,
    failing,
    real,
  }: { log: string; answers: Record<string, string>; failing: string | undefined; real: readonly string[] },
): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const beginning = (start: string, then: string) => `case "$command" in ${quoted(start)}*) ${then};; esac`;
  for (const name of standIns) {
    const path = join(bin, name);
    const lines = [
      '#!/bin/sh',
      `command="${name} $*"`,
      `{ printf '%s\\037' "$command"; env -0; printf '\\036'; } >> ${quoted(log)}`,
      ...Object.entries(answers).map(([start, text]) => beginning(start, `echo ${quoted(text)}`)),
      ...(failing === undefined ? [] : [beginning(failing, 'exit 1')]),
      // The rest of PATH, without the stand-ins.
      ...real.map((start) => beginning(start, `PATH=\${PATH#*${delimiter}} exec ${name} "$@"`)),
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    chmodSync(path, 0o755);
  }
  return bin;
}
