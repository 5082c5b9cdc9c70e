import type { CrashPoint, Position } from './gate.ts';
import type { Scenario, Verdict } from './trial.ts';

export interface PointResult {
  point: CrashPoint;
  verdict: Verdict;
  recoveredMs: number;
}

/** One row for each kind of request: how often it occurs, and how the crashes before and after came out. */
export function crashTable(
  { name }: Pick<Scenario, 'name'>,
  points: readonly CrashPoint[],
  results: readonly PointResult[],
): string {
  const labels = [...new Set(points.map(({ label }) => label))];
  const rows = labels.map((label) => {
    const own = results.filter(({ point }) => point.label === label);
    const times = Math.max(0, ...own.map(({ point }) => point.occurrence));
    const slowest = Math.max(0, ...own.map(({ recoveredMs }) => recoveredMs));
    return [label, `${times}`, cell(own, 'before'), cell(own, 'after'), `${(slowest / 1000).toFixed(0)} s`];
  });
  const header = [name, 'times', 'before it', 'after it', 'slowest recovery'];
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function cell(results: readonly PointResult[], position: Position): string {
  const own = results.filter(({ point }) => point.position === position);
  if (own.length === 0) return '–';
  const count = (kind: Verdict['kind']) => own.filter(({ verdict }) => verdict.kind === kind).length;
  const broken = count('broken');
  const missed = count('notReached');
  return [
    `${count('held')} of ${own.length} held`,
    ...(broken > 0 ? [`${broken} BROKEN`] : []),
    ...(missed > 0 ? [`${missed} not reached`] : []),
  ].join(', ');
}
