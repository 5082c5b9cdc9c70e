import type { DatabaseSync } from 'node:sqlite';
import { type ContainerDefinition, partitionKeyRule } from './containerDefinition.ts';
import { type ItemTable, openItemTable } from './itemTable.ts';
import type { PartitionKeyRule } from './partitionKey.ts';
import { type Ranges, rangesOf } from './ranges.ts';
import { containerRid, databaseRid, etagOf, itemRids } from './resourceIds.ts';
import type { DefaultTtl } from './ttl.ts';

/** Sequence numbers reserved per write to the catalog. */
const reserveBlock = 10_000;
/** Maximum numbers used between two `reserve` calls: a batch of 100 operations takes three each. */
const reserveMargin = 400;
/** Minimum milliseconds between two deletions of expired items. */
const reapEveryMs = 10_000;

/** An open container: its definition, its table and its single sequence. */
export interface Container {
  readonly number: number;
  readonly rid: string;
  readonly self: string;
  /** `dbs/{database}/colls/{container}`, percent-encoded. */
  readonly link: string;
  readonly id: string;
  definition: ContainerDefinition;
  ts: number;
  /** Number of times the definition was replaced; part of its ETag. */
  revision: number;
  readonly partitionKey: PartitionKeyRule;
  readonly table: ItemTable;
  readonly ranges: Ranges;
  readonly defaultTtl: DefaultTtl;
  ridOf(row: number): string;
  /** The LSN of the latest transaction. */
  readonly lsn: number;
  /**
   * Next number of the container's sequence, the source of row ids, LSNs and ETags. It never goes back, not
   * even across a restart after the latest item was deleted: a change feed reader would miss the writes that
   * follow.
   */
  next(): number;
  /** Reserves numbers for one request. Call it outside the request's transaction, so a rollback keeps them. */
  reserve(): void;
  /** Deletes expired items, at most every 10 seconds. */
  reapNowAndThen(now: number): void;
}

export interface ContainerRow {
  number: number;
  database: number;
  id: string;
  definition: string;
  ts: number;
  revision: number;
  reserved: number;
}

/** @param partitions how many partition key ranges the container has */
export function openContainer(
  db: DatabaseSync,
  databaseId: string,
  row: ContainerRow,
  partitions: number,
): Container {
  // We wrote it from a parsed definition, so it needs no check.
  const definition = JSON.parse(row.definition) as ContainerDefinition;
  const setReserved = db.prepare('UPDATE containers SET reserved = ? WHERE number = ?');
  const ranges = rangesOf(definition, partitions);
  const rid = containerRid(row.database, row.number);
  let reserved = row.reserved;
  let sequence = row.reserved;
  let lastReap = 0;
  const container: Container = {
    number: row.number,
    rid,
    self: `dbs/${databaseRid(row.database)}/colls/${rid}/`,
    link: `dbs/${encodeURIComponent(databaseId)}/colls/${encodeURIComponent(row.id)}`,
    id: row.id,
    definition,
    ts: row.ts,
    revision: row.revision,
    partitionKey: partitionKeyRule(definition),
    table: openItemTable(db, row.number, (partition) => ranges.of(partition).index),
    ranges,
    get defaultTtl() {
      return container.definition.defaultTtl;
    },
    ridOf: itemRids(row.database, row.number),
    get lsn() {
      return sequence;
    },
    next: () => ++sequence,
    reserve() {
      if (sequence + reserveMargin <= reserved) return;
      reserved = sequence + reserveBlock;
      setReserved.run(reserved, row.number);
    },
    reapNowAndThen(now) {
      if (now - lastReap < reapEveryMs) return;
      lastReap = now;
      container.table.reap(Math.floor(now / 1000));
    },
  };
  return container;
}

/** A container as the service returns it. */
export function describeContainer({ definition, rid, self, ts, number, revision }: Container) {
  return {
    ...definition,
    conflictResolutionPolicy: definition.conflictResolutionPolicy ?? {
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
      conflictResolutionProcedure: '',
    },
    geospatialConfig: definition.geospatialConfig ?? { type: 'Geography' },
    _rid: rid,
    _ts: ts,
    _self: self,
    _etag: etagOf(number, revision),
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  };
}
