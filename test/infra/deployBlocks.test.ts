import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { removeFolder } from '../support/removeFolder.ts';
import { describeWith, findProgram } from '../support/servers/findProgram.ts';
import { root } from './sources.ts';

/*
 * Runs every block of docs/deploy.md, those of docs/operations.md and the scripts that they call (infra/setup) with stand-ins for
 * the programs that reach out. A variable that nothing has set ends the block, and JSON that a program is given has to be JSON.
 */

const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const all = blocksIn(page);
/** Commands. The other blocks there are queries. */
const ofOperations = blocksIn(readFileSync(join(root, 'docs/operations.md'), 'utf8')).filter(
  ({ language }) => language === '',
);

function blocksIn(text: string) {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: language = '', 2: block = '' }) => ({
      language,
      text: block,
      index,
      line: text.slice(0, index).split('\n').length,
      /** The last lines before the block, which say what has to be set. */
      before: text.slice(0, index).trimEnd().split('\n\n').at(-1) ?? '',
    }),
  );
}

/** Blocks that bash cannot run, by something in them. */
const notRun: Readonly<Record<string, RegExp>> = {
  'installs programs on Windows': /^winget /,
  PowerShell: /\$env:\w+ = (?!.*#)|^\$APP = /m,
  'part of local.settings.json': /^"AzureWebJobsStorage__accountName"/,
};
const reasonFor = ({ text }: { text: string }) =>
  Object.entries(notRun).find(([, pattern]) => pattern.test(text) && !/^export /m.test(text))?.[0];
const [quickStart, ...others] = [
  { name: 'the quick start', blocks: all.filter(({ index }) => index < page.indexOf('\n## How far')) },
  ...all
    .filter(({ index }) => index > page.indexOf('\n## How far'))
    .map((block) => ({
      name: `line ${block.line}: ${block.text.split('\n')[0]?.slice(0, 60)}`,
      blocks: [block],
    })),
  ...ofOperations.map((block) => ({ name: `operations.md, line ${block.line}`, blocks: [block] })),
].map(({ name, blocks }) => ({ name, blocks: blocks.filter((block) => reasonFor(block) === undefined) }));

/** Programs that reach out. `rm` and the like are real. */
const standIns = ['az', 'azd', 'gh', 'npm', 'curl', 'uuidgen', 'git'];

async function runBlock(text: string, given: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'block-'));
  try {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    for (const name of standIns) {
      const lines = [
        '#!/bin/sh',
        `{ printf '%s' '${name}'; printf '\\037%s' "$@"; printf '\\036'; } >> ${calls}`,
        // Some programs are given a document on their standard input.
        `case "$*" in *'--input -'*) { printf 'stdin\\037'; cat; printf '\\036'; } >> ${calls};; esac`,
        `case "$*" in *'-o json'*) echo '[{"role":"A role","principalId":"1","scope":"/s","condition":""}]';; *) echo 42;; esac`,
      ];
      writeFileSync(join(bin, name), `${lines.join('\n')}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    cpSync(join(root, 'infra/setup'), join(folder, 'infra/setup'), { recursive: true });
    for (const file of ['key.txt', 'secret.json', 'payonce.zip']) writeFileSync(join(folder, file), '{}');
    const { status, stderr } = spawnSync('bash', ['--norc', '-eu', '-o', 'pipefail', '-c', text], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: [bin, process.env.PATH ?? ''].join(delimiter),
        ...Object.fromEntries(given.map((name) => [name, `value-of-${name}`])),
      },
    });
    const called = readFileSync(calls, 'utf8')
      .split('\x1e')
      .filter(Boolean)
      .map((call) => call.split('\x1f'));
    return { status, stderr, called };
  } finally {
    await removeFolder(folder);
  }
}

describeWith({ bash: findProgram('bash') }, 'docs/deploy.md', () => {
  test.each([quickStart, ...others].flatMap((part) => (part?.blocks.length ? [part] : [])))(
    '$name',
    async ({ blocks }) => {
      // `$NAME` in the sentence before a block says that another one has set it.
      const given = [...(blocks[0]?.before ?? '').matchAll(/`\$(\w+)`/g)].map(([, name = '']) => name);
      const { status, stderr, called } = await runBlock(blocks.map(({ text }) => text).join(''), given);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(called.length).toBeGreaterThan(0);
      for (const document of called.flat().filter((argument) => argument.trimStart().startsWith('{')))
        expect(() => JSON.parse(document) as unknown).not.toThrow();
    },
  );

  test('a variable that nothing has set ends a block', async () => {
    expect((await runBlock('az login --tenant $TENANT', [])).status).not.toBe(0);
  });
});

describe('the blocks that are not run', () => {
  test('are these', () => {
    expect(all.map(reasonFor).filter((reason) => reason !== undefined)).toEqual([
      'installs programs on Windows',
      'PowerShell',
      'part of local.settings.json',
    ]);
    expect(all.length).toBeGreaterThan(15);
  });
});
