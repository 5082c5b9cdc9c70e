import type { DatabaseSync } from 'node:sqlite';
import { type Container, type ContainerRow, openContainer } from './container.ts';
import { type ContainerDefinition, requireReplaceable } from './containerDefinition.ts';
import { alreadyExists, itemNotFound, ownerNotFound } from './errors.ts';
import { createItemTable, dropItemTable, placeItems, tableName } from './itemTable.ts';
import { rangesOf } from './ranges.ts';
import { inTransaction } from './storage.ts';

export interface Database {
  number: number;
  id: string;
  ts: number;
  containers: Map<string, Container>;
}

/** The account's databases and containers. All are held in memory; every change also goes to storage. */
export interface Catalog {
  databases(): Iterable<Database>;
  /** @throws {CosmosError} 404 */
  database(id: string): Database;
  createDatabase(id: string): Database;
  deleteDatabase(id: string): void;
  /** For requests on the container itself. @throws {CosmosError} 404 */
  container(database: string, id: string): Container;
  /** For requests on something in the container. @throws {CosmosError} 404 with sub-status 1003 */
  owner(database: string, id: string): Container;
  createContainer(database: string, definition: ContainerDefinition): Container;
  replaceContainer(container: Container, definition: ContainerDefinition): void;
  deleteContainer(database: string, id: string): void;
}

/**
 * @param now wall-clock milliseconds
 * @param partitions how many partition key ranges each container has
 */
export function openCatalog(db: DatabaseSync, now: () => number, partitions: number): Catalog {
  const seconds = () => Math.floor(now() / 1000);
  placeAll(db, partitions);
  const all = load(db, partitions);

  function database(id: string): Database {
    const found = all.get(id);
    if (found === undefined) throw itemNotFound();
    return found;
  }

  function container(databaseId: string, id: string): Container {
    const found = database(databaseId).containers.get(id);
    if (found === undefined) throw itemNotFound();
    return found;
  }

  return {
    databases: () => all.values(),
    database,
    createDatabase(id) {
      if (all.has(id)) throw alreadyExists();
      const ts = seconds();
      const { lastInsertRowid } = db.prepare('INSERT INTO databases (id, ts) VALUES (?, ?)').run(id, ts);
      const created = { number: Number(lastInsertRowid), id, ts, containers: new Map() };
      all.set(id, created);
      return created;
    },
    deleteDatabase(id) {
      const { number, containers } = database(id);
      inTransaction(db, () => {
        for (const owned of containers.values()) dropItemTable(db, owned.number);
        db.prepare('DELETE FROM containers WHERE database = ?').run(number);
        db.prepare('DELETE FROM databases WHERE number = ?').run(number);
      });
      all.delete(id);
    },
    container,
    owner(databaseId, id) {
      const found = all.get(databaseId)?.containers.get(id);
      if (found === undefined) throw ownerNotFound();
      return found;
    },
    createContainer(databaseId, definition) {
      const parent = all.get(databaseId);
      if (parent === undefined) throw ownerNotFound();
      if (parent.containers.has(definition.id)) throw alreadyExists();
      const row = inTransaction(db, () => insertContainer(db, parent.number, definition, seconds()));
      const created = openContainer(db, databaseId, row, partitions);
      parent.containers.set(definition.id, created);
      return created;
    },
    replaceContainer(current, definition) {
      requireReplaceable(current.definition, definition);
      const ts = seconds();
      inTransaction(db, () => {
        db.prepare(
          'UPDATE containers SET definition = ?, ts = ?, revision = revision + 1 WHERE number = ?',
        ).run(JSON.stringify(definition), ts, current.number);
        if (definition.defaultTtl !== current.definition.defaultTtl)
          resetExpiry(db, current.number, definition.defaultTtl);
      });
      current.definition = definition;
      current.ts = ts;
      current.revision += 1;
    },
    deleteContainer(databaseId, id) {
      const { number } = container(databaseId, id);
      inTransaction(db, () => {
        dropItemTable(db, number);
        db.prepare('DELETE FROM containers WHERE number = ?').run(number);
      });
      database(databaseId).containers.delete(id);
    },
  };
}

/**
 * Moves the items of all containers to the ranges they belong to, if the data was written with another number of ranges. The
 * file remembers the number as its `user_version`; 0 is a file from before there were several.
 */
function placeAll(db: DatabaseSync, partitions: number): void {
  if (db.prepare('PRAGMA user_version').get()?.user_version === partitions) return;
  inTransaction(db, () => {
    for (const row of db.prepare('SELECT * FROM containers').all() as unknown as ContainerRow[]) {
      const ranges = rangesOf(JSON.parse(row.definition) as ContainerDefinition, partitions);
      placeItems(db, row.number, (partition) => ranges.of(partition).index);
    }
    db.exec(`PRAGMA user_version = ${partitions}`);
  });
}

function load(db: DatabaseSync, partitions: number): Map<string, Database> {
  const databases = db.prepare('SELECT number, id, ts FROM databases').all() as unknown as Database[];
  const rows = db.prepare('SELECT * FROM containers').all() as unknown as ContainerRow[];
  return new Map(
    databases.map(({ number, id, ts }) => {
      const own = rows
        .filter((row) => row.database === number)
        .map((row) => openContainer(db, id, row, partitions));
      return [id, { number, id, ts, containers: new Map(own.map((each) => [each.id, each])) }];
    }),
  );
}

function insertContainer(
  db: DatabaseSync,
  database: number,
  definition: ContainerDefinition,
  ts: number,
): ContainerRow {
  const { id, uniqueKeyPolicy } = definition;
  const text = JSON.stringify(definition);
  const { lastInsertRowid } = db
    .prepare('INSERT INTO containers (database, id, definition, ts) VALUES (?, ?, ?, ?)')
    .run(database, id, text, ts);
  const number = Number(lastInsertRowid);
  createItemTable(db, number, uniqueKeyPolicy.uniqueKeys);
  return { number, database, id, definition: text, ts, revision: 0, reserved: 0 };
}

/** Applies the rule of `expiryOf` to all items of a container whose default changed. */
function resetExpiry(db: DatabaseSync, container: number, defaultTtl: number | undefined): void {
  const table = `"${tableName(container)}"`;
  if (defaultTtl === undefined) {
    db.exec(`UPDATE ${table} SET expires = NULL`);
    return;
  }
  db.prepare(`UPDATE ${table} SET expires = ts + nullif(ifnull(json_extract(doc, '$.ttl'), ?), -1)`).run(
    defaultTtl,
  );
}
