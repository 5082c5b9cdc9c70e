import { type Turns, turnMs } from '../platform/eventLoopTurns.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';
import type { ImportLimits, RowReader } from './rowReader.ts';
import { byteOrderMark } from './utf8.ts';

/** A row of a body; `index` counts them from 0. */
export type Row = CheckedRow & { index: number };

/** Bytes that are split into rows at once. */
const partBytes = 16_384;

/** Reads the rows of a body, a few at a time, and lets the event loop go round in between. Returns why it stopped early, if it did. */
export async function* readRows(
  body: Buffer,
  reader: RowReader,
  { limits, turns }: { limits: Pick<ImportLimits, 'rows'>; turns: Turns },
): AsyncGenerator<readonly Row[], Problem | undefined> {
  let index = 0;
  const parts = partsOf(body);
  for (let part = parts.next(); ; part = parts.next()) {
    await turns.next();
    let began = performance.now();
    let rows: Row[] = [];
    for (const row of part.done === true ? reader.end() : reader.push(part.value)) {
      if (row.kind !== 'stop' && index < limits.rows) rows.push({ ...row, index: index++ });
      else {
        yield rows;
        return row.kind === 'stop' ? row.problem : tooManyRows(limits);
      }
      if (performance.now() - began > turnMs) {
        yield rows;
        rows = [];
        await turns.next();
        began = performance.now();
      }
    }
    yield rows;
    if (part.done === true) return undefined;
  }
}

/** The body in parts of `partBytes`, as latin1, without its byte order mark. */
function* partsOf(body: Buffer): Generator<string> {
  const text = (at: number) => body.toString('latin1', at, at + partBytes);
  const start = text(0).startsWith(byteOrderMark) ? byteOrderMark.length : 0;
  for (let at = start; at < body.length; at += partBytes) yield text(at);
}

export function tooLarge(most: number): Problem {
  return problem(413, `Expected at most ${most} bytes in one body: split it over several requests.`);
}

function tooManyRows({ rows }: Pick<ImportLimits, 'rows'>): Problem {
  return problem(413, `Expected at most ${rows} rows in one body: send those that follow in other requests.`);
}
