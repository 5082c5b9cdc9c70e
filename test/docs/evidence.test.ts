import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { evidencePage } from '../../scripts/evidence/page.ts';
import {
  type EvidenceRecord,
  type EvidenceRun,
  filesOf,
  hashOfFiles,
  type KnownRow,
  knownRows,
  projectFolder,
  runForEvidence,
  withoutComments,
} from '../../scripts/evidence/records.ts';

test('docs/evidence.md is what the records give (npm run evidence -- --page writes it)', () => {
  expect(readFileSync(join(projectFolder, 'docs/evidence.md'), 'utf8')).toBe(evidencePage(knownRows()));
});

const run: EvidenceRun = {
  command: 'npm run check -- fuzz',
  at: '2026-11-28T03:00:00.000Z',
  revision: '0123456789',
  seconds: 92,
  cores: 2,
  memoryGb: 24,
  node: '24.21.0',
  exitCode: 0,
  result: ['held'],
};

/** The page of one row with this record, as lines. */
function pageOf(record: EvidenceRecord | undefined, filesNow = 'same'): string[] {
  const row: KnownRow = {
    name: 'fuzz',
    shows: 'It holds.',
    without: 'all else',
    commands: ['npm run check -- fuzz', 'npm run check -- fuzz --more'],
    minutes: 2,
    files: [],
    result: /./,
    record,
    filesNow,
  };
  return evidencePage([row]).split('\n');
}
const summary = (record: EvidenceRecord, filesNow?: string) =>
  pageOf(record, filesNow).find((line) => line.startsWith('| [fuzz]'));

test('a row says what came of its commands, and which have not been run', () => {
  const once = summary({ files: 'same', runs: [run] });
  expect(once).toBe(
    '| [fuzz](#fuzz) | It holds. | held, 1 of 2 commands not run yet | 2026-11-28 03:00 UTC | 0123456789 | 92 s |',
  );
  const both = [run, { ...run, command: 'npm run check -- fuzz --more' }];
  expect(summary({ files: 'same', runs: both })).toContain('| held | ');
});

test('a row whose files have changed is older than the code', () => {
  expect(summary({ files: 'same', runs: [run] }, 'other')).toContain('; *older than the code* |');
});

test('a failure is shown until the same code passes, and is counted after that', () => {
  const failed = { ...run, exitCode: 1, result: ['BROKEN'] };
  const page = pageOf({ files: 'same', runs: [failed] });
  expect(page.find((line) => line.startsWith('| [fuzz]'))).toContain('**failed: 1 of 1**');
  expect(page).toContain('- [fuzz](#fuzz), 2026-11-28 03:00 UTC: `npm run check -- fuzz`');
  expect(page).toContain('BROKEN');
  expect(summary({ files: 'same', runs: [failed, run] })).toContain(
    '| held, 1 of 2 commands not run yet, earlier runs that failed: 1 |',
  );
});

test('schedules of several runs add up, each seed once, without those of a run that failed', () => {
  const of = (from: number, count: number, exitCode = 0) => ({
    ...run,
    command: `${run.command} --from ${from} --seeds ${count}`,
    exitCode,
    seeds: { from, count },
  });
  const runs = [of(1, 100), of(51, 100), of(1_000, 50), of(2_000, 500, 1)];
  expect(summary({ files: 'same', runs })).toContain(
    '**failed: 1 of 4**, 1 of 2 commands not run yet, 200 schedules',
  );
});

test('schedules that failed count once they have passed, and the failure is counted, too', () => {
  const of = (exitCode: number) => {
    const command = 'npm run check -- fuzz --from 1 --seeds 100';
    return { ...run, command, exitCode, seeds: { from: 1, count: 100 } };
  };
  expect(summary({ files: 'same', runs: [of(1), of(0)] })).toContain(
    '| held, 1 of 2 commands not run yet, earlier runs that failed: 1, 100 schedules |',
  );
});

test('a row is about what its files import, start and read as well, but not about tests', () => {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-files-'));
  try {
    const code = {
      'app/one.ts': "import { two } from '../lib/two.ts';\nimport 'node:fs';\nimport '../lib/missing.ts';",
      'app/one.test.ts': "import '../lib/unused.ts';",
      'lib/two.ts':
        "const worker = new URL('./worker.ts', import.meta.url);\nexport type { One } from '../app/one.ts';",
      'lib/worker.ts': "await import('../three.ts'); readFileSync('./queues.json');",
      'lib/queues.json': '{}',
      'lib/unused.ts': '',
      'three.ts': '',
    };
    for (const [name, text] of Object.entries(code)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    expect(filesOf({ files: ['app/*.ts'] }, folder)).toEqual([
      'app/one.ts',
      'lib/queues.json',
      'lib/two.ts',
      'lib/worker.ts',
      'three.ts',
    ]);
    // Nor what only they import.
    expect(filesOf({ files: ['app/*.ts'], except: ['lib/worker.ts'] }, folder)).toEqual([
      'app/one.ts',
      'lib/two.ts',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the hash of files depends on their contents, not on tests', () => {
  const hashOf = (...files: string[]) => hashOfFiles({ files });
  expect(hashOf('scripts/evidence/*.ts')).not.toBe(hashOf('scripts/evidence/rows.ts'));
  expect(hashOf('scripts/evidence/*.ts')).toBe(hashOf('scripts/evidence/*.ts', 'test/docs/*.test.ts'));
});

test('a comment makes no run older, and anything else does', () => {
  const code = (text: string) => withoutComments('one.ts', text);
  const one = code("const a: string = 'é // b'; // what it is\n\n/** More. */\nexport { a };\n");
  expect(one).toBe(code("const a: string = 'é // b';\n/* Less\n of it */ export { a };\n"));
  expect(one).not.toBe(code("const a: string = 'é // c';\nexport { a };\n"));
  expect(withoutComments('one.bicep', '// a')).not.toBe(withoutComments('one.bicep', '// b'));
});

test('of a run the lines of the result are kept, with the Node version and the exit code', async () => {
  const shown: string[] = [];
  const run = await runForEvidence(`node -p "'one\\ntwo'"`, /two/, undefined, (line) => shown.push(line));
  expect(shown.slice(1)).toEqual(['one', 'two']);
  expect(run).toMatchObject({
    command: `node -p "'one\\ntwo'"`,
    exitCode: 0,
    result: ['two'],
    node: process.version.slice(1),
  });
});

test('of a failure the last lines are kept, standard error too', async () => {
  const failed = await runForEvidence('node --no-such-option', /never/, { from: 7, count: 3 }, () => {});
  expect(failed).toMatchObject({ exitCode: 9, seeds: { from: 7, count: 3 } });
  expect(failed?.command).toBe('node --no-such-option --from 7 --seeds 3');
  expect(failed?.result.join()).toContain('bad option: --no-such-option');
});
