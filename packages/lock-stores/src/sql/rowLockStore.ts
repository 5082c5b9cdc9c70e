import { randomUUID } from 'node:crypto';
import type { LockStore, LockView, Refusal } from '@payonce/leases';
import { memoized } from '@payonce/leases';
import { aText, fieldsOf, listOf, orNull, type Shape } from '../answers.ts';
import { recordFromText, recordToText } from '../recordText.ts';
import { asciiJson, fromAscii, keyHash, rowVersion, toAscii } from './lockNames.ts';
import type { SqlAnswer, SqlValue } from './sqlConnection.ts';

/** A table of locks, and how its database writes what SQL dialects write differently. Parameters are question marks. */
export interface LockTable extends AsyncDisposable, Pick<LockStore, 'isPermanent'> {
  /** The name, quoted. */
  name: string;
  /** The server's time when the statement runs, comparable with `ends_at`. */
  now: string;
  /** The same in whole milliseconds since the epoch. */
  nowMs: string;
  /** The time that is a parameter's milliseconds after `now`. */
  later: string;
  /** Inserts `id, lock_key, version`, or nothing if the id is there. */
  insert: string;
  /** Runs one statement as a transaction of its own. Creates the table if it is missing. */
  run: (statement: string, values: readonly SqlValue[], signal: AbortSignal) => Promise<SqlAnswer>;
}

interface Row {
  lock_key: string;
  lease_id: string | null;
  /** True while the lease runs; null if it was broken or released. */
  runs: boolean | null;
  version: string;
  record: string | null;
  now: number;
}

/** MySQL answers with a number, or with its text where a pool has `bigNumberStrings`. */
const truth: Shape<boolean> = (value) => value === true || Number(value) === 1;

const lockRows = listOf(
  fieldsOf<Row>({
    lock_key: aText,
    lease_id: orNull(aText),
    runs: orNull(truth),
    version: aText,
    record: orNull(aText),
    // Databases answer with a text, since it has more than 32 bits.
    now: Number,
  }),
);

/**
 * A lock as a row. Each operation is one conditional statement, so it needs no transaction, no session and no row lock that
 * outlives it. Only the server's clock is used. If the condition fails, a second statement says why.
 *
 *   lease_id is null                       free
 *   lease_id is set, ends_at in the future held
 *   lease_id is set, ends_at in the past   run out
 *   lease_id is set, ends_at is null       broken
 */
export function rowLockStore(table: LockTable): LockStore {
  const { name, now, nowMs, later, run } = table;
  const idOf = memoized(keyHash);
  const select = `select lock_key, lease_id, ends_at > ${now} as runs, version, record, ${nowMs} as now
    from ${name}`;
  const ours = `id = ? and lease_id = ? and ends_at > ${now}`;

  async function find(key: string, signal: AbortSignal): Promise<Row | undefined> {
    const { rows } = await run(`${select} where id = ?`, [idOf(key)], signal);
    return lockRows(rows)[0];
  }

  async function matches(
    statement: string,
    values: readonly SqlValue[],
    signal: AbortSignal,
  ): Promise<boolean> {
    return (await run(statement, values, signal)).matched > 0;
  }

  return {
    // The lag is a reserve for clocks that run at different rates: the server itself adds none.
    traits: {
      lease: { minMs: 1_000, maxMs: 3_600_000, stepMs: 1 },
      expiryLagMs: 100,
      keptBy: 'id',
      looks: 'anyone',
    },
    ...(table.isPermanent && { isPermanent: table.isPermanent }),

    async look(key, signal) {
      const row = await find(key, signal);
      return row && view(row);
    },

    async create(key, signal) {
      for (let tries = 0; tries < 3; tries++) {
        await run(table.insert, [idOf(key), toAscii(key), randomUUID()], signal);
        const row = await find(key, signal);
        if (row !== undefined) return view(row);
      }
      throw new Error(`Cannot create lock "${key}": it disappeared on each of 3 attempts`);
    },

    async acquire(key, leaseId, leaseMs, signal) {
      const id = idOf(key);
      const taken = await matches(
        `update ${name} set lease_id = ?, ends_at = ${later}
         where id = ? and (ends_at is null or ends_at <= ${now} or lease_id = ?)`,
        [leaseId, leaseMs, id, leaseId],
        signal,
      );
      if (taken) return 'acquired';
      return (await find(key, signal)) === undefined ? 'absent' : 'held';
    },

    async raise(key, leaseId, record, version, signal) {
      const values = [randomUUID(), asciiJson(recordToText(record)), idOf(key), leaseId, rowVersion(version)];
      const raised = await matches(
        `update ${name} set version = ?, record = ? where ${ours} and version = ?`,
        values,
        signal,
      );
      if (raised) return 'raised';
      const row = await find(key, signal);
      return row?.runs && row.lease_id === leaseId ? 'changed' : refusal(row, leaseId);
    },

    async renew(key, leaseId, leaseMs, signal) {
      const renewed = await matches(
        `update ${name} set ends_at = ${later} where ${ours}`,
        [leaseMs, idOf(key), leaseId],
        signal,
      );
      return renewed ? 'renewed' : refusal(await find(key, signal), leaseId);
    },

    async release(key, leaseId, signal) {
      const released = await matches(
        `update ${name} set lease_id = null, ends_at = null where ${ours}`,
        [idOf(key), leaseId],
        signal,
      );
      return released ? 'released' : 'gone';
    },

    async break(key, version, signal) {
      const broken = await matches(
        `update ${name} set ends_at = null where id = ? and version = ? and ends_at > ${now}`,
        [idOf(key), rowVersion(version)],
        signal,
      );
      if (broken) return 'broken';
      const row = await find(key, signal);
      return row?.version === version && !row.runs ? 'notHeld' : 'changed';
    },

    async forget(key, version, signal) {
      const forgotten = await matches(
        `delete from ${name} where id = ? and version = ? and (ends_at is null or ends_at <= ${now})`,
        [idOf(key), rowVersion(version)],
        signal,
      );
      if (forgotten) return 'forgotten';
      const row = await find(key, signal);
      if (row === undefined) return 'forgotten';
      return row.runs ? 'held' : 'changed';
    },

    async *list(prefix, signal) {
      const beginning = toAscii(prefix);
      const values = [beginning.length, beginning];
      const { rows } = await run(`${select} where left(lock_key, ?) = ? order by lock_key`, values, signal);
      for (const row of lockRows(rows)) {
        const key = fromAscii(row.lock_key);
        // MySQL ignores blanks at the end.
        if (key.startsWith(prefix)) yield { key, ...view(row) };
      }
    },

    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}

function view({ runs, record, version, now }: Row): LockView {
  return { held: runs === true, record: recordFromText(record), version, now };
}

/** Why a statement under this lease matched nothing. */
function refusal(row: Row | undefined, leaseId: string): Refusal {
  if (row === undefined) return { kind: 'refused', reason: 'deleted', detail: 'its row is gone' };
  if (row.lease_id !== leaseId) {
    const detail = row.runs ? 'another lease has the row' : 'the row is free';
    return { kind: 'refused', reason: 'taken', detail };
  }
  if (row.runs === null) return { kind: 'refused', reason: 'broken', detail: 'somebody broke the lease' };
  return { kind: 'refused', reason: 'taken', detail: 'the lease ran out on the server' };
}
