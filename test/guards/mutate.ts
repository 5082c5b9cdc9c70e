/**
 * Draws mutants of decisions (mutants.ts) and runs the tests of their folders on each, in a copy of the project. Those that no
 * test notices are listed. The same seed draws the same mutants of the same sources.
 *
 *     npm run check -- mutants [--area NAME] [--seed N] [--count 60] [--only PLACE]
 *
 * Exits with 1 if a mutant survives whose place `equivalent.ts` does not name.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../support/seededRandom.ts';
import { equivalent } from './equivalent.ts';
import { type Mutant, mutantsOf } from './mutants.ts';
import { project, projectCopy, vitest } from './projectCopy.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '20261125' },
    count: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
    area: { type: 'string', default: '' },
  },
});

/** Code that decides, and the tests of it, nearest first. */
const areas: readonly { name: string; sources: readonly string[]; tests: readonly string[] }[] = [
  {
    name: 'after',
    sources: ['src/after', 'src/paying/mergeReversals.ts', 'src/paying/foundPayment.ts'],
    tests: [
      'test/after',
      'test/paying/foundPayment.test.ts',
      'test/paying/mergeReversals.property.test.ts',
      'test/ops/refundsApi.test.ts',
      'test/ops/correctionsApi.test.ts',
    ],
  },
  {
    name: 'claiming',
    sources: ['src/claiming', 'src/archive', 'packages/jobs/src/outbox'],
    tests: [
      'test/claiming',
      'test/archive',
      'packages/jobs/test/outbox',
      'test/ops/customersApi.test.ts',
      'test/paying',
      'test/invoice',
    ],
  },
];
/** Decisions that take several files to show: crashes, schedules and whole batches. */
const furthest = ['test/simulation/simulation.test.ts'];
const longestMs = 240_000;

async function filesOf(source: string): Promise<string[]> {
  if (source.endsWith('.ts')) return [source];
  const names = await readdir(join(project, source));
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${source}/${name}`);
}

function placeOf({ file, line, from, to }: Mutant): string {
  const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line} ${short(from)} → ${short(to) || 'nothing'}`;
}

/** True if a test fails, or none of them ends. */
function isNoticed(copy: string, tests: readonly string[]): Promise<boolean> {
  const options = ['run', ...tests, '--bail=1', '--reporter=dot'];
  return new Promise((resolve) => {
    execFile(process.execPath, [vitest, ...options], { cwd: copy, timeout: longestMs }, (error) =>
      resolve(error !== null),
    );
  });
}

const survivors: string[] = [];
let drawnCount = 0;
await using copy = await projectCopy();
for (const { name, sources, tests } of areas) {
  if (!name.includes(values.area)) continue;
  const files = (await Promise.all(sources.map(filesOf))).flat().toSorted();
  const all: Mutant[] = [];
  for (const file of files) all.push(...mutantsOf(file, await readFile(join(project, file), 'utf8')));
  const random = seededRandom(Number(values.seed));
  const drawn: Mutant[] = [];
  while (drawn.length < Number(values.count) && all.length > 0)
    drawn.push(...all.splice(random.between(0, all.length - 1), 1));
  console.log(
    `${name}: ${all.length + drawn.length} mutants of ${files.length} files; ${drawn.length} drawn by seed ${values.seed}`,
  );
  if (await isNoticed(copy.path, tests)) throw new Error('the tests fail without any mutant');
  for (const [index, mutant] of drawn.entries()) {
    const place = placeOf(mutant);
    if (!place.includes(values.only)) continue;
    drawnCount++;
    const path = join(copy.path, mutant.file);
    const whole = await readFile(path, 'utf8');
    await writeFile(path, whole.slice(0, mutant.start) + mutant.to + whole.slice(mutant.end));
    let noticed = false;
    // The nearest tests notice most.
    for (const some of [tests.slice(0, 3), tests.slice(3), furthest])
      noticed ||= await isNoticed(copy.path, some);
    await writeFile(path, whole);
    const reason = equivalent[place];
    if (!noticed && reason === undefined) survivors.push(place);
    const verdict = noticed ? 'noticed' : reason === undefined ? 'SURVIVES' : `changes nothing: ${reason}`;
    console.log(`${String(index + 1).padStart(3)} ${verdict}  ${place}`);
  }
}
console.log(`${survivors.length} of ${drawnCount} survive`);
process.exitCode = survivors.length === 0 ? 0 : 1;
