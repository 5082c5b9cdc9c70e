import type { CrashPoint, Position } from './gate.ts';
import type { Scenario, Verdict } from './trial.ts';

export interface PointResult {
  point: CrashPoint;
  verdict: Verdict;
  recoveredMs: number;
}

/** One row per kind of request in one scenario: how often it occurs, and how the crashes before and after it ended. */
export function crashTable(
  { name }: Pick<Scenario, 'name'>,
  points: readonly CrashPoint[],
  results: readonly PointResult[],
): string {
  const labels = [...new Set(points.map(({ label }) => label))];
  const rows = labels.map((label) => {
    const own = results.filter(({ point }) => point.label === label);
    const times = Math.max(0, ...own.map(({ point }) => point.occurrence));
    return [label, `${times}`, cell(own, 'before'), cell(own, 'after'), slowest(own)];
  });
  return markdownTable([name, 'times', 'before it', 'after it', 'slowest recovery'], rows);
}

/** A point with the scenario that it belongs to. */
export type SweptPoint = PointResult & { scenario: Pick<Scenario, 'name'> };

/** The generated part of docs/crash-points.md: totals by scenario, then "held/points" of each kind of request. Pure. */
export function crashPointTables(swept: readonly SweptPoint[]): string {
  const byScenario = Map.groupBy(swept, ({ scenario }) => scenario.name);
  const scenarios = [...byScenario];
  const totals = [...scenarios, ['all', swept] as const].map(([name, own]) => [
    name === 'all' ? name : `\`${name}\``,
    `${own.length}`,
    ...(['held', 'notReached', 'broken'] as const).map((kind) => `${count(own, kind)}`),
  ]);
  const rows = mergedLabels(scenarios.map(([, own]) => own)).map((label) => {
    const ofLabel = (results: readonly SweptPoint[]) => results.filter(({ point }) => point.label === label);
    const cells = scenarios.map(([, own]) => {
      const results = ofLabel(own);
      return results.length === 0 ? '' : `${count(results, 'held')}/${results.length}`;
    });
    return [label, ...cells, slowest(ofLabel(swept))];
  });
  return [
    markdownTable(['scenario', 'points', 'held', 'not reached', 'broken'], totals),
    markdownTable(['request', ...byScenario.keys(), 'slowest recovery'], rows),
  ].join('\n\n');
}

const begin = '<!-- Written by `npm run check -- crash --write`: begin -->';
const end = '<!-- end -->';

/**
 * The page with its generated part replaced.
 * @throws {Error} if the page does not have both markers.
 */
export function replaceTables(page: string, tables: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page must have the lines ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${tables}\n\n${page.slice(to)}`;
}

/** Labels in the order of the first scenario; a label that only a later one has goes behind its predecessor there. */
function mergedLabels(scenarios: readonly (readonly SweptPoint[])[]): string[] {
  const merged: string[] = [];
  for (const results of scenarios) {
    let previous = -1;
    for (const label of new Set(results.map(({ point }) => point.label))) {
      const at = merged.indexOf(label);
      if (at < 0) merged.splice(previous + 1, 0, label);
      previous = at < 0 ? previous + 1 : at;
    }
  }
  return merged;
}

function cell(results: readonly PointResult[], position: Position): string {
  const own = results.filter(({ point }) => point.position === position);
  if (own.length === 0) return '–';
  const broken = count(own, 'broken');
  const missed = count(own, 'notReached');
  return [
    `${count(own, 'held')} of ${own.length} held`,
    ...(broken > 0 ? [`${broken} BROKEN`] : []),
    ...(missed > 0 ? [`${missed} not reached`] : []),
  ].join(', ');
}

function count(results: readonly PointResult[], kind: Verdict['kind']): number {
  return results.filter(({ verdict }) => verdict.kind === kind).length;
}

function slowest(results: readonly PointResult[]): string {
  return `${(Math.max(0, ...results.map(({ recoveredMs }) => recoveredMs)) / 1000).toFixed(0)} s`;
}

function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
