import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeWith, findProgram } from '../support/servers/findProgram.ts';
import { root } from './sources.ts';

const shellcheck = findProgram('shellcheck');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const jobs = z.object({
  jobs: z.record(
    z.string(),
    z.object({ steps: z.array(z.object({ name: z.string().optional(), run: z.string().optional() })) }),
  ),
});
/** GitHub runs each step with `bash -e`. */
const steps = readdirSync(join(root, '.github/workflows')).flatMap((file) =>
  Object.entries(jobs.parse(parse(read(`.github/workflows/${file}`))).jobs).flatMap(([job, { steps: all }]) =>
    all.flatMap(({ name, run }, index) =>
      run === undefined
        ? []
        : [{ where: `${file} ${job} ${name ?? index + 1}`, script: `#!/bin/bash -e\n${run}\n` }],
    ),
  ),
);
const programs = ['.ci', 'infra/setup'].flatMap((folder) =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.json'))
    .map(({ name }) => ({ where: `${folder}/${name}`, script: read(`${folder}/${name}`) })),
);
/** The blocks of two pages that are shell, those for PowerShell and other formats left out. */
const blocks = ['docs/deploy.md', 'docs/operations.md']
  .flatMap((path) => [...read(path).matchAll(/^```\n([\s\S]*?)^```$/gm)])
  .map(([, text = '']) => text)
  .filter((text) => /^(az|azd|npm|gh|curl|export|\w+=\$\()/m.test(text) && !/\$env:|^winget/m.test(text))
  .map((text, index) => ({
    where: `docs, block ${index + 1}`,
    // Names for the reader to fill in, and a step that uses what another block has set.
    script: `#!/bin/bash\n# shellcheck disable=SC2154,SC2034\n${text.replaceAll('…', 'X')}`,
  }));

describeWith({ shellcheck }, 'shellcheck finds nothing in', () => {
  test('the scripts that there are', () => {
    expect(steps.length).toBeGreaterThan(20);
    expect(blocks.length).toBeGreaterThan(10);
    const names = programs.map(({ where }) => where);
    for (const name of ['.ci/run', 'infra/setup/deploy-identity.sh']) expect(names).toContain(name);
  });

  test.each([...steps, ...programs, ...blocks])('$where', ({ script }) => {
    const { stdout } = spawnSync(shellcheck ?? '', ['--shell=bash', '--severity=warning', '-'], {
      input: script,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  });
});
