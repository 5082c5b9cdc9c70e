// npm run evidence [-- ROW [TEXT] [--seeds N] | -- --page]: runs the commands of rows.ts, keeps what they said in docs/evidence, and makes
// docs/evidence.md of it. Without a row: all that take less than an hour. TEXT: only commands of the row with it. --page: no command.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { page: { type: 'boolean', default: false }, seeds: { type: 'string' } },
});
const [wanted, text = ''] = positionals;
const rows = Object.entries(evidenceRows);
const chosen = rows
  .filter(([name, { minutes }]) =>
    wanted === undefined ? !values.page && minutes < longRowMinutes : name === wanted,
  )
  .flatMap(([name, row]) =>
    row.commands.filter((one) => one.includes(text)).map((command) => ({ name, row, command })),
  );
const seeds = values.seeds === undefined ? undefined : Number(values.seeds);
if (
  (chosen.length === 0 && !values.page) ||
  (seeds !== undefined && !(Number.isSafeInteger(seeds) && seeds > 0))
) {
  console.error(
    `npm run evidence -- ROW [TEXT] [--seeds N], where ROW is one of: ${rows.map(([name]) => name).join(', ')}`,
  );
  process.exit(2);
}

for (const { name, row, command } of chosen) {
  const files = hashOfFiles(row.files, true);
  const earlier = readRecord(name);
  const runs = earlier?.files === files ? earlier.runs : [];
  const range = row.seeds === undefined ? undefined : { from: nextSeed(runs), count: seeds ?? row.seeds };
  const done = await runForEvidence(command, row.result, range);
  if (done === undefined) process.exit(1);
  if (hashOfFiles(row.files, true) !== files) {
    console.error(`${name}: its files were changed meanwhile, so this run is not kept`);
    process.exitCode = 1;
    continue;
  }
  addRun(name, files, done);
  writePage();
  if (done.exitCode !== 0) process.exitCode = 1;
}
writePage();

/** The schedule after those of these runs; without any, the second of today's clock, so that nobody has tried it before. */
function nextSeed(runs: readonly EvidenceRun[]): number {
  const ends = runs.flatMap(({ seeds: tried }) => (tried === undefined ? [] : [tried.from + tried.count]));
  return ends.length === 0 ? Math.floor(Date.now() / 1000) : Math.max(...ends);
}

function writePage(): void {
  writeFileSync(join(projectFolder, 'docs/evidence.md'), evidencePage(knownRows()));
}
