/**
 * Switches off one guard at a time in a copy of the project and checks that the test named for it fails. Exits with 1 if
 * a removal goes unnoticed or a guard cannot be switched off as it says.
 *
 *     npm run check -- guards [PART_OF_A_NAME]
 *
 * One Vitest serves all runs. The code of every guard passes the type check first: one that named something that is gone would
 * fail its test for that reason alone.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createVitest, type TestModule } from 'vitest/node';
import { edited, type Source, sourcesOf } from './edits.ts';
import { type Guard, guards } from './guards.ts';
import { project, projectCopy } from './projectCopy.ts';

type Verdict =
  | { kind: 'caught' }
  /** The named test passed without the guard, or did not run. */
  | { kind: 'unnoticed'; why: string }
  /** There is no such function, or more than one, or the other body does not fit it. */
  | { kind: 'misfit'; why: string };

const sources = sourcesOf();
const wanted = guards.filter(({ name }) => name.includes(process.argv[2] ?? ''));
const verdicts = new Map<Guard, Verdict>();
{
  await using made = await projectCopy();
  const copy = made.path;
  for (const [guard, why] of await misfits(copy)) verdicts.set(guard, { kind: 'misfit', why });
  process.chdir(copy);
  const vitest = await createVitest('test', {
    root: copy,
    config: join(copy, 'vitest.full.config.ts'),
    watch: false,
    reporters: [{}],
  });
  try {
    const width = Math.max(...wanted.map(({ name }) => name.length));
    console.log(`${'guard switched off'.padEnd(width)}  verdict    test that must fail`);
    const before = await run(
      wanted.map(({ tests }) => tests),
      wanted.map(({ caughtBy }) => caughtBy),
    );
    for (const guard of wanted) {
      const verdict = verdicts.get(guard) ?? (await check(copy, guard, before));
      verdicts.set(guard, verdict);
      const why = verdict.kind === 'caught' ? guard.caughtBy : `${guard.caughtBy}: ${verdict.why}`;
      console.log(`${guard.name.padEnd(width)}  ${verdict.kind.padEnd(9)}  ${why}`);
    }
  } finally {
    process.chdir(project);
    await vitest.close();
  }

  async function check(copy: string, guard: Guard, before: readonly TestModule[]): Promise<Verdict> {
    const passes = statuses(before, guard);
    if (passes.length === 0 || passes.some((status) => status !== 'passed'))
      return { kind: 'unnoticed', why: `with the guard: ${passes.join() || 'no such test'}` };
    const changed = edited(sources, [guard]);
    await put(copy, changed);
    const after = statuses(await run([guard.tests], [guard.caughtBy]), guard);
    await put(
      copy,
      sources.filter(({ file }) => changed.some((one) => one.file === file)),
    );
    if (after.includes('failed')) return { kind: 'caught' };
    return { kind: 'unnoticed', why: `without the guard: ${after.join() || 'no test'}` };
  }

  async function put(copy: string, files: readonly Source[]): Promise<void> {
    for (const { file, text } of files) {
      const path = join(copy, file);
      await writeFile(path, text);
      vitest.invalidateFile(path);
    }
  }

  /** Runs the tests of these files whose names contain one of these texts. */
  async function run(files: readonly string[], names: readonly string[]): Promise<TestModule[]> {
    const own = new Set(files.map((file) => join(copy, file)));
    const specs = (await vitest.globTestSpecifications([...own])).filter(({ moduleId }) => own.has(moduleId));
    const pattern = [...new Set(names)].map((name) =>
      name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`),
    );
    vitest.setGlobalTestNamePattern(new RegExp(pattern.join('|')));
    return (await vitest.runTestSpecifications(specs)).testModules;
  }

  function statuses(modules: readonly TestModule[], { tests, caughtBy }: Guard): string[] {
    const module = modules.find(({ moduleId }) => moduleId === join(copy, tests));
    const own = [...(module?.children.allTests() ?? [])].filter(({ name }) => name.startsWith(caughtBy));
    return own.map((test) => test.result().state);
  }
}
const caught = [...verdicts.values()].filter(({ kind }) => kind === 'caught').length;
console.log(`${caught} of ${wanted.length} guards are watched`);
process.exitCode = caught === wanted.length && caught > 0 ? 0 : 1;

/** Guards that cannot be switched off, with the reason. */
async function misfits(copy: string): Promise<Map<Guard, string>> {
  const found = new Map<Guard, string>();
  for (const guard of wanted) {
    try {
      edited(sources, [guard]);
    } catch (error) {
      found.set(guard, (error as Error).message);
    }
  }
  const config = { extends: './tsconfig.json', include: ['src', 'scripts'] };
  // The code of a guard may leave unused what it takes away, and takes arguments as they come.
  const compilerOptions = { noImplicitAny: false, noUnusedLocals: false, noUnusedParameters: false };
  await writeFile(join(copy, 'tsconfig.guards.json'), JSON.stringify({ ...config, compilerOptions }));
  const left = new Set(wanted.filter((guard) => !found.has(guard)));
  while (left.size > 0) {
    // As many at once as change different functions.
    const some = [...new Map([...left].map((guard) => [guard.of, guard])).values()];
    for (const guard of some) left.delete(guard);
    const together = await problemsOf(copy, some);
    for (const guard of some) {
      const files = edited(sources, [guard]).map(({ file }) => file);
      if (!together.some((line) => files.some((file) => line.startsWith(file)))) continue;
      const problems = await problemsOf(copy, [guard]);
      if (problems.length > 0) found.set(guard, problems.join('; '));
    }
  }
  return found;
}

/** Runs the type checker on the project with these guards switched off, and returns its errors. */
async function problemsOf(copy: string, some: readonly Guard[]): Promise<string[]> {
  const changed = edited(sources, some);
  for (const { file, text } of changed) await writeFile(join(copy, file), text);
  const compiler = join(project, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--pretty', 'false', '-p', 'tsconfig.guards.json'];
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, ...options], { cwd: copy }).catch(
    (error: { stdout: string }) => error,
  );
  for (const { file, text } of sources.filter((source) => changed.some(({ file }) => file === source.file)))
    await writeFile(join(copy, file), text);
  return stdout.split('\n').filter((line) => line.includes('error TS'));
}
