/**
 * Switches off one guard of test/guards at a time in a copy of the project, or puts a fault into it (sabotages.ts), and looks
 * whether the simulation finds that within 2,000 schedules.
 *
 *     npm run test:simulate:guards [-- PART_OF_A_NAME] [--seeds N] [--from S] [--jobs J]
 *
 * Exits with 1 if one is found that blind.ts names as out of sight, or one is not found that it does not name.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { guards } from '../guards/guards.ts';
import { outOfSight } from './blind.ts';
import { type Sabotage, sabotages } from './sabotages.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));
const parts = ['src', 'test', 'host.json', 'package.json', 'tsconfig.json'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '2' },
  },
});

/** Guards that are switched off in the same way are one. */
const removals: readonly Sabotage[] = [
  ...new Map(
    guards.map(({ name, file, from, to }) => [
      `${file}\n${from}\n${to}`,
      { name, edits: [{ file, from, to }] },
    ]),
  ).values(),
];
const wanted = [...removals, ...sabotages].filter(({ name }) => name.includes(positionals[0] ?? ''));

/** What the simulation says of the copy: the line that names the seed and the invariant, or undefined. */
function simulateIn(copy: string): Promise<string | undefined> {
  const { seeds, from, jobs } = values;
  const args = ['test/simulation/main.ts', '--seeds', seeds, '--from', from, '--jobs', jobs];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: copy, maxBuffer: 1 << 26 }, (_, output, errors) => {
      const seed = /^seed (\d+) fails/m.exec(output)?.[1];
      const invariant = /^"([^"]+)"/m.exec(output)?.[1];
      if (seed !== undefined) resolve(`seed ${seed}: ${invariant ?? 'a violation'}`);
      else if (/^\d+ of \d+ schedules/m.test(output)) resolve(undefined);
      else reject(new Error(`the simulation did not run: ${errors.slice(-500)}`));
    });
  });
}

async function without<T>(copy: string, { name, edits }: Sabotage, run: () => Promise<T>): Promise<T> {
  const before = new Map<string, string>();
  try {
    for (const { file, from, to } of edits) {
      const path = join(copy, file);
      const text = await readFile(path, 'utf8');
      if (!before.has(path)) before.set(path, text);
      const found = text.split(from).length - 1;
      if (found !== 1) throw new Error(`${name}: its text occurs ${found} times in ${file}`);
      await writeFile(
        path,
        text.replace(from, () => to),
      );
    }
    return await run();
  } finally {
    for (const [path, text] of before) await writeFile(path, text);
  }
}

const copy = await mkdtemp(join(tmpdir(), 'payonce-simulation-'));
let wrong = 0;
let seen = 0;
try {
  for (const part of parts) await cp(join(project, part), join(copy, part), { recursive: true });
  await symlink(join(project, 'node_modules'), join(copy, 'node_modules'), 'junction');
  for (const sabotage of wanted) {
    const why = outOfSight[sabotage.name];
    const found = await without(copy, sabotage, () => simulateIn(copy)).catch(
      (error: Error) => `it does not run: ${error.message.split('\n')[0]}`,
    );
    if (found !== undefined) seen++;
    if ((found === undefined) !== (why !== undefined)) wrong++;
    const verdict = found ?? (why === undefined ? 'NOT FOUND' : `out of sight: ${why}`);
    console.log(
      `${sabotage.name}\n    ${verdict}${found !== undefined && why !== undefined ? ' (blind.ts names it)' : ''}`,
    );
  }
} finally {
  await rm(copy, { recursive: true });
}
console.log(`${seen} of ${wanted.length} are found; ${wrong} not as expected`);
process.exitCode = wrong === 0 ? 0 : 1;
