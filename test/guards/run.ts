/**
 * Switches off one guard at a time in a copy of the project and checks that the test named for it fails. Exits with 1 if
 * a removal goes unnoticed or a guard is no longer where it was.
 *
 *     npm run test:guards [-- PART_OF_A_NAME]
 */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { edited } from './edits.ts';
import { type Guard, guards } from './guards.ts';
import { projectCopy, vitest } from './projectCopy.ts';

type Verdict =
  | { kind: 'caught' }
  /** The named test passed without the guard, or did not run. */
  | { kind: 'unnoticed'; what: string }
  /** The guard is not in its file exactly once. */
  | { kind: 'moved'; what: string };

const testTimeoutMs = 120_000;

const reportSchema = z.object({
  testResults: z.array(
    z.object({ assertionResults: z.array(z.object({ title: z.string(), status: z.string() })) }),
  ),
});

interface Outcome {
  title: string;
  status: string;
}

/** Runs a test file in `copy`, or only its tests that match `name`. */
async function runTests(copy: string, tests: string, name?: string): Promise<Outcome[]> {
  const output = join(copy, 'report.json');
  const only = name === undefined ? [] : ['-t', name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)];
  const options = ['run', tests, ...only, '--reporter=json', `--outputFile=${output}`];
  const { stderr } = await new Promise<{ stderr: string }>((resolve) => {
    execFile(process.execPath, [vitest, ...options], { cwd: copy, timeout: testTimeoutMs }, (_, __, text) =>
      resolve({ stderr: text }),
    );
  });
  const report = await readFile(output, 'utf8').catch(() => undefined);
  if (report === undefined) throw new Error(`${tests} produced no report: ${stderr}`);
  await rm(output);
  const { testResults } = reportSchema.parse(JSON.parse(report));
  return testResults.flatMap(({ assertionResults }) => assertionResults);
}

/** `before`: the outcomes of the guard's test file with all guards in place. */
async function check(copy: string, guard: Guard, before: readonly Outcome[]): Promise<Verdict> {
  const { file, tests, caughtBy } = guard;
  const path = join(copy, file);
  const whole = await readFile(path, 'utf8');
  let without: string;
  try {
    without = edited(whole, [guard]);
  } catch (error) {
    return { kind: 'moved', what: `${file}: ${(error as Error).message}` };
  }
  const statuses = (outcomes: readonly Outcome[]) =>
    outcomes.filter(({ title }) => title.startsWith(caughtBy)).map(({ status }) => status);
  const passes = statuses(before);
  if (passes.length === 0 || passes.some((status) => status !== 'passed')) {
    return { kind: 'unnoticed', what: `with the guard: ${passes.join() || 'no such test'}` };
  }
  await writeFile(path, without);
  try {
    const after = statuses(await runTests(copy, tests, caughtBy));
    if (after.includes('failed')) return { kind: 'caught' };
    return { kind: 'unnoticed', what: `without the guard: ${after.join() || 'no test'}` };
  } finally {
    await writeFile(path, whole);
  }
}

const wanted = guards.filter(({ name }) => name.includes(process.argv[2] ?? ''));
const verdicts: Verdict[] = [];
{
  await using made = await projectCopy();
  const copy = made.path;
  const width = Math.max(...wanted.map(({ name }) => name.length));
  console.log(`${'guard switched off'.padEnd(width)}  verdict    test that must fail`);
  const before = new Map<string, Outcome[]>();
  for (const guard of wanted) {
    const outcomes = before.get(guard.tests) ?? (await runTests(copy, guard.tests));
    before.set(guard.tests, outcomes);
    const verdict = await check(copy, guard, outcomes);
    verdicts.push(verdict);
    const why = verdict.kind === 'caught' ? guard.caughtBy : `${guard.caughtBy}: ${verdict.what}`;
    console.log(`${guard.name.padEnd(width)}  ${verdict.kind.padEnd(9)}  ${why}`);
  }
}
const caught = verdicts.filter(({ kind }) => kind === 'caught').length;
console.log(`${caught} of ${wanted.length} guards are watched`);
process.exitCode = caught === wanted.length && caught > 0 ? 0 : 1;
