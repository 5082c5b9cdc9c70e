import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { root } from './sources.ts';

const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { scripts, engines } = z
  .object({ scripts: z.record(z.string(), z.string()), engines: z.object({ node: z.string() }) })
  .parse(read('package.json'));

const { tasks } = z
  .object({ tasks: z.array(z.object({ label: z.string(), type: z.literal('npm'), script: z.string() })) })
  .parse(read('.vscode/tasks.json'));
const { configurations } = z
  .object({
    configurations: z.array(
      z.looseObject({
        name: z.string(),
        program: z.string().optional(),
        runtimeExecutable: z.string().optional(),
        preLaunchTask: z.string().optional(),
      }),
    ),
  })
  .parse(read('.vscode/launch.json'));
const extensions = z
  .object({ recommendations: z.array(z.string()) })
  .parse(read('.vscode/extensions.json')).recommendations;
const container = z
  .object({
    image: z.string(),
    onCreateCommand: z.string(),
    updateContentCommand: z.string(),
    customizations: z.object({ vscode: z.object({ extensions: z.array(z.string()) }) }),
  })
  .parse(read('.devcontainer/devcontainer.json'));

describe('Visual Studio Code', () => {
  test.each(tasks)('the task $label runs a script that exists', ({ script }) => {
    expect(scripts).toHaveProperty([script]);
  });

  test.each(configurations)('$name starts files and tasks that exist', (configuration) => {
    const { program, runtimeExecutable, preLaunchTask } = configuration;
    for (const path of [program, runtimeExecutable])
      if (path !== undefined)
        expect(existsSync(join(root, path.replace(/^\$\{workspaceFolder\}\//, '')))).toBe(true);
    if (preLaunchTask !== undefined) expect(tasks.map(({ label }) => label)).toContain(preLaunchTask);
  });

  test('the task before a launch is done when the local cloud says so', () => {
    const [pattern = ''] =
      /"endsPattern": "([^"]+)"/.exec(readFileSync(join(root, '.vscode/tasks.json'), 'utf8'))?.slice(1) ?? [];
    expect('ready').toMatch(new RegExp(pattern));
    expect(readFileSync(join(root, 'local/cloud.ts'), 'utf8')).toMatch(/ready/);
  });
});

describe('the dev container', () => {
  test('has a Node that package.json allows, and installs what the tests need', () => {
    const [, major] = /typescript-node:(\d+)-/.exec(container.image) ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)?.[0]));
    const [, script = ''] = /^sudo (\S+)$/.exec(container.onCreateCommand) ?? [];
    expect(existsSync(join(root, script))).toBe(true);
    expect(container.updateContentCommand).toBe('npm ci');
  });

  test('recommends the same extensions', () => {
    expect(container.customizations.vscode.extensions).toEqual(extensions);
  });
});
