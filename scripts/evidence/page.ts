import type { EvidenceRecord, EvidenceRun, KnownRow } from './records.ts';

/** From here on a row is renewed by name only (minutes). */
export const longRowMinutes = 60;

/** The page, from nothing but the rows. Pure. */
export function evidencePage(rows: readonly KnownRow[]): string {
  const failures = rows.flatMap(({ name, record: of }) =>
    (of?.runs ?? []).filter(({ exitCode }) => exitCode !== 0).map((one) => ({ name, ...one })),
  );
  const long = rows.filter(({ minutes }) => minutes >= longRowMinutes).map(({ name }) => linkTo(name));
  return `# Evidence

Written by \`npm run evidence\` from the records in \`docs/evidence\`, one per row; do not edit. A record has every run on the same
code, including those that failed; the first run on changed code replaces them. *Older than the code*: code that the row is about has
changed since, not only its comments. \`npm run evidence -- ROW\` renews a row, \`npm run evidence\` all that take less than an hour,
which leaves out ${long.join(', ')}. [Tests and campaigns](testing.md) says which campaign catches what.

| row | what was tried | result | latest run | revision | took |
| --- | --- | --- | --- | --- | --- |
${rows.map(summaryOf).join('\n')}

Failed runs of the code that a record is about: ${failures.length === 0 ? 'none.' : ''}
${failures.map(({ name, command, at }) => `\n- ${linkTo(name)}, ${dayOf(at)}: \`${command}\``).join('')}
${rows.map(sectionOf).join('\n')}`.replaceAll(/\n{3,}/g, '\n\n');
}

const linkTo = (name: string) => `[${name}](#${name})`;
const dayOf = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`;

function summaryOf({ name, shows, record: of, commands, filesNow }: KnownRow): string {
  const latest = latestRuns(of);
  const last = of?.runs.at(-1);
  if (of === undefined || last === undefined) return `| ${linkTo(name)} | ${shows} | not run yet | | | |`;
  const isNewer = of.files === filesNow;
  const seconds = latest.reduce((sum, one) => sum + one.seconds, 0);
  return `| ${[
    linkTo(name),
    shows,
    `${verdictOn(of, commands)}${isNewer ? '' : '; *older than the code*'}`,
    dayOf(last.at),
    last.revision,
    durationText(seconds),
  ].join(' | ')} |`;
}

/** The latest run of each command; each part of the schedules has a command of its own. */
function latestRuns(of: EvidenceRecord | undefined): EvidenceRun[] {
  return (of?.runs ?? []).filter(
    (one, index, all) => !all.slice(index + 1).some(({ command }) => command === one.command),
  );
}

function verdictOn(of: EvidenceRecord, commands: readonly string[]): string {
  const failed = latestRuns(of).filter(({ exitCode }) => exitCode !== 0).length;
  const missing = notRun(of, commands).length;
  const schedules = countSeeds(of.runs);
  const earlier = of.runs.filter(({ exitCode }) => exitCode !== 0).length - failed;
  return [
    failed > 0 ? `**failed: ${failed} of ${latestRuns(of).length}**` : 'held',
    ...(missing > 0 ? [`${missing} of ${commands.length} commands not run yet`] : []),
    ...(earlier > 0 ? [`earlier runs that failed: ${earlier}`] : []),
    ...(schedules > 0 ? [`${schedules.toLocaleString('en')} schedules`] : []),
  ].join(', ');
}

function notRun(of: EvidenceRecord | undefined, commands: readonly string[]): string[] {
  const isRun = (command: string, run: EvidenceRun) =>
    run.seeds === undefined ? run.command === command : run.command.startsWith(command);
  return commands.filter((command) => !of?.runs.some((run) => isRun(command, run)));
}

/** Schedules that held, each seed once. */
function countSeeds(runs: readonly EvidenceRun[]): number {
  const ranges = runs.flatMap(({ seeds, exitCode }) => (seeds !== undefined && exitCode === 0 ? seeds : []));
  let [count, upTo] = [0, Number.NEGATIVE_INFINITY];
  for (const { from, count: all } of ranges.toSorted((one, other) => one.from - other.from)) {
    count += Math.max(0, from + all - Math.max(from, upTo));
    upTo = Math.max(upTo, from + all);
  }
  return count;
}

function durationText(seconds: number): string {
  return seconds < 100 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(0)} min`;
}

function sectionOf({ name, without, record: of, commands, minutes }: KnownRow): string {
  const missing = notRun(of, commands);
  const left = missing.length === 0 ? '' : ` Not run yet: ${missing.map((one) => `\`${one}\``).join(', ')}.`;
  return `
## ${name}

\`npm run evidence -- ${name}\`, about ${minutes} minutes.${left} Not covered: ${without}.
${latestRuns(of).map(runText).join('\n')}`;
}

function runText({
  command,
  at,
  revision,
  seconds,
  cores,
  memoryGb,
  node,
  exitCode,
  result,
}: EvidenceRun): string {
  return `
\`${command}\`: ${exitCode === 0 ? 'held' : `**failed** (exit code ${exitCode})`}. ${dayOf(at)}, revision ${revision}, ${durationText(seconds)}, ${cores} cores, ${memoryGb} GB, Node ${node}.

\`\`\`
${result.join('\n')}
\`\`\``;
}
