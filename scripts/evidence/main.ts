// npm run evidence: runs the commands of rows.ts, keeps what they said in docs/evidence, and makes docs/evidence.md of it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { exitFor } from '../../packages/local-azure/src/failure.ts';
import { evidencePage, longRowMinutes } from './page.ts';
import {
  addRun,
  type EvidenceRun,
  hashOfFiles,
  knownRows,
  projectFolder,
  readRecord,
  runForEvidence,
} from './records.ts';
import { evidenceRows } from './rows.ts';

const rows = Object.entries(evidenceRows);
const usage = `npm run evidence [-- ROW [TEXT] [--seeds N] [--from N] | -- --page]
  ROW        ${rows.map(([name]) => name).join(', ')} (default: all that take less than an hour)
  TEXT       only commands of the row that have it in them
  --seeds N  schedules that a row of simulations tries (default: the row's)
  --from N   the first of them (default: one that was never tried), to repeat a run that failed
  --page     no command: only makes docs/evidence.md`;

const { values, positionals } = readArguments();
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const [wanted, text = ''] = positionals;
const chosen = rows
  .filter(([name, { minutes }]) =>
    wanted === undefined ? !values.page && minutes < longRowMinutes : name === wanted,
  )
  .flatMap(([name, row]) =>
    row.commands.filter((one) => one.includes(text)).map((command) => ({ name, row, command })),
  );
const [seeds, first] = [values.seeds, values.from].map((value) =>
  value === undefined ? undefined : Number(value),
);
const isCount = (value: number | undefined) =>
  value === undefined || (Number.isSafeInteger(value) && value > 0);
if ((chosen.length === 0 && !values.page) || !isCount(seeds) || !isCount(first)) {
  console.error(usage);
  process.exit(2);
}

for (const { name, row, command } of chosen) {
  const files = hashOfFiles(row, true);
  const from = first ?? nextSeed(readRecord(name)?.runs ?? []);
  const range = row.seeds === undefined ? undefined : { from, count: seeds ?? row.seeds };
  const done = await runForEvidence(command, row.result, range);
  if (done === undefined) process.exit(1);
  if (hashOfFiles(row, true) !== files) {
    console.error(`${name}: its files were changed meanwhile, so this run is not kept`);
    process.exitCode = 1;
    continue;
  }
  addRun(name, files, done);
  writePage();
  if (done.exitCode !== 0) process.exitCode = 1;
}
writePage();
if (wanted === undefined && !values.page)
  console.log(
    `not renewed, an hour or more each: ${rows.flatMap(([name, { minutes }]) => (minutes < longRowMinutes ? [] : [name])).join(', ')}`,
  );

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        page: { type: 'boolean', default: false },
        seeds: { type: 'string' },
        from: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    console.error(usage);
    return exitFor(error);
  }
}

/** A schedule that nobody has tried before: after those of the known runs, of older code too, and not before the second of today's clock. */
function nextSeed(runs: readonly EvidenceRun[]): number {
  const ends = runs.flatMap(({ seeds: tried }) => (tried === undefined ? [] : [tried.from + tried.count]));
  return Math.max(Math.floor(Date.now() / 1000), ...ends);
}

function writePage(): void {
  writeFileSync(join(projectFolder, 'docs/evidence.md'), evidencePage(knownRows()));
}
