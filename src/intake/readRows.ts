import type { BodyChunks } from '../platform/bodyChunks.ts';
import { type Turns, turnMs } from '../platform/eventLoopTurns.ts';
import { type Problem, problem } from '../platform/problem.ts';
import type { CheckedRow } from './checkedRow.ts';
import type { ImportLimits, RowReader } from './rowReader.ts';
import { byteOrderMark } from './utf8.ts';

/** A row of a body; `index` counts them from 0. */
export type Row = CheckedRow & { index: number };

/** Bytes that are split into rows at once. Chunks of the network are smaller, and are put together. */
const partBytes = 16_384;

/**
 * Reads the rows of a body as they arrive, a few at a time, and lets the event loop go round in between. Returns why it
 * stopped early, if it did.
 */
export async function* readRows(
  body: BodyChunks,
  reader: RowReader,
  { limits, turns }: { limits: ImportLimits; turns: Turns },
): AsyncGenerator<readonly Row[], Problem | undefined> {
  let index = 0;
  const parts = partsOf(body, limits.bytes);
  for (let part = await parts.next(); ; part = await parts.next()) {
    if (part.done === true && part.value !== undefined) return part.value;
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

/** The body in parts of `partBytes`, as latin1, without its byte order mark. Returns why it ended early. */
async function* partsOf(body: BodyChunks, most: number): AsyncGenerator<string, Problem | undefined> {
  let size = 0;
  let text = '';
  let isFirst = true;
  for (;;) {
    const chunk = await body.next();
    if (chunk === 'cutOff') return problem(400, 'The body did not arrive in full.');
    if (chunk === 'late') return problem(408, 'The body did not arrive in time.');
    if (chunk !== undefined) size += chunk.byteLength;
    if (size > most) return tooLarge(most);
    for (let at = 0; chunk !== undefined && at < chunk.byteLength; at += partBytes) {
      text += latin1(chunk, at);
      if (text.length < partBytes) continue;
      yield started(text);
      text = '';
    }
    if (chunk === undefined) {
      if (text !== '') yield started(text);
      return undefined;
    }
  }

  function started(part: string): string {
    const starts = isFirst && part.startsWith(byteOrderMark);
    isFirst = false;
    return starts ? part.slice(byteOrderMark.length) : part;
  }
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array, at: number): string {
  return Buffer.from(buffer, byteOffset + at, Math.min(partBytes, byteLength - at)).toString('latin1');
}

export function tooLarge(most: number): Problem {
  return problem(413, `Expected at most ${most} bytes in one body: split it over several requests.`);
}

function tooManyRows({ rows }: ImportLimits): Problem {
  return problem(413, `Expected at most ${rows} rows in one body: send those that follow in other requests.`);
}
