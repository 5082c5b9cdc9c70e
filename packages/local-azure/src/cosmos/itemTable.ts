import type { DatabaseSync } from 'node:sqlite';
import { alreadyExists, uniqueKeyViolated } from './errors.ts';
import { parsePath } from './partitionKey.ts';

/** A row as item reads and writes need it. The query engine reads the table directly. */
export interface ItemRow {
  rid: number;
  /** The whole item as JSON text, system properties included. */
  doc: string;
  etag: string;
  /** Unix seconds, or null for never. */
  expires: number | null;
}

export interface NewVersion {
  doc: string;
  etag: string;
  ts: number;
  /** Number of the transaction in the container. The change feed orders by it. */
  lsn: number;
  expires: number | null;
}

/** The table of one container, with all SQL for single items prepared once. */
export interface ItemTable {
  readonly name: string;
  get(pk: string, id: string): ItemRow | undefined;
  /** @throws {CosmosError} 409 if the id is taken or a unique key is violated */
  insert(rid: number, pk: string, id: string, version: NewVersion): void;
  /** @throws {CosmosError} 409 if a unique key is violated */
  update(rid: number, version: NewVersion): void;
  remove(rid: number): void;
  /** Deletes up to 1,000 items that expired by `now` (Unix seconds). */
  reap(now: number): void;
}

export const tableName = (container: number) => `c${container}`;

/** Creates the table that items and queries share. query/ depends on its columns. */
export function createItemTable(
  db: DatabaseSync,
  container: number,
  uniqueKeys: readonly { paths: readonly string[] }[],
): void {
  const name = tableName(container);
  db.exec(`
    CREATE TABLE "${name}" (
      rid INTEGER PRIMARY KEY,
      pk TEXT NOT NULL,
      id TEXT NOT NULL,
      doc TEXT NOT NULL,
      etag TEXT,
      ts INTEGER,
      lsn INTEGER,
      expires INTEGER,
      pkrange INTEGER NOT NULL DEFAULT 0,
      UNIQUE (pk, id)
    );
    CREATE INDEX "${name}_lsn" ON "${name}" (lsn);
    CREATE INDEX "${name}_expires" ON "${name}" (expires) WHERE expires IS NOT NULL;
  `);
  for (const [index, { paths }] of uniqueKeys.entries()) {
    // As on the service, a missing value counts as null, and values of different types differ.
    const values = paths.map((path) => `ifnull(doc -> ${sqlText(jsonPath(path))}, 'null')`);
    db.exec(`CREATE UNIQUE INDEX "${name}_unique_${index}" ON "${name}" (pk, ${values.join(', ')})`);
  }
}

export function dropItemTable(db: DatabaseSync, container: number): void {
  db.exec(`DROP TABLE "${tableName(container)}"`);
}

/** Makes each item's place agree with `rangeOf`, also in a table that was made before there were places. */
export function placeItems(
  db: DatabaseSync,
  container: number,
  rangeOf: (partition: string) => number,
): void {
  const name = tableName(container);
  const columns = db.prepare(`PRAGMA table_info("${name}")`).all();
  if (!columns.some((column) => column.name === 'pkrange'))
    db.exec(`ALTER TABLE "${name}" ADD COLUMN pkrange INTEGER NOT NULL DEFAULT 0`);
  const place = db.prepare(`UPDATE "${name}" SET pkrange = ? WHERE pk = ?`);
  for (const { pk } of db.prepare(`SELECT DISTINCT pk FROM "${name}"`).all()) {
    place.run(rangeOf(String(pk)), String(pk));
  }
}

/** @param rangeOf the number of the partition key range that holds a partition */
export function openItemTable(
  db: DatabaseSync,
  container: number,
  rangeOf: (partition: string) => number,
): ItemTable {
  const name = tableName(container);
  const select = db.prepare(`SELECT rid, doc, etag, expires FROM "${name}" WHERE pk = ? AND id = ?`);
  const insert = db.prepare(
    `INSERT INTO "${name}" (rid, pk, id, doc, etag, ts, lsn, expires, pkrange) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const update = db.prepare(
    `UPDATE "${name}" SET doc = ?, etag = ?, ts = ?, lsn = ?, expires = ? WHERE rid = ?`,
  );
  const remove = db.prepare(`DELETE FROM "${name}" WHERE rid = ?`);
  const reap = db.prepare(
    `DELETE FROM "${name}" WHERE rid IN (SELECT rid FROM "${name}" WHERE expires <= ? LIMIT 1000)`,
  );
  const reapAll = db.prepare(`DELETE FROM "${name}" WHERE expires <= ?`);

  /** An expired item must not hold a unique key: on a clash, delete all expired items and retry once. */
  function writeUnique(ts: number, write: () => void): void {
    try {
      write();
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      reapAll.run(ts);
      try {
        write();
      } catch (again) {
        throw isUniqueViolation(again) ? violation(again) : again;
      }
    }
  }

  return {
    name,
    get: (pk, id) => select.get(pk, id) as unknown as ItemRow | undefined,
    insert(rid, pk, id, { doc, etag, ts, lsn, expires }) {
      writeUnique(ts, () => insert.run(rid, pk, id, doc, etag, ts, lsn, expires, rangeOf(pk)));
    },
    update(rid, { doc, etag, ts, lsn, expires }) {
      writeUnique(ts, () => update.run(doc, etag, ts, lsn, expires, rid));
    },
    remove: (rid) => void remove.run(rid),
    reap: (now) => void reap.run(now),
  };
}

function isUniqueViolation(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('UNIQUE constraint failed');
}

/** SQLite names the columns of a violated table constraint, but the index of a violated unique key. */
function violation({ message }: Error) {
  return message.includes(': index ') ? uniqueKeyViolated() : alreadyExists();
}

const jsonPath = (path: string) =>
  `$${parsePath(path)
    .map((part) => `."${part}"`)
    .join('')}`;
const sqlText = (text: string) => `'${text.replaceAll("'", "''")}'`;
