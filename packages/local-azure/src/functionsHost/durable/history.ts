/**
 * The table `{hub}History`: one row per event, and a row `sentinel` per instance. The sentinel records which
 * execution the rows belong to, how many are committed, and whether the last episode was published. Its ETag
 * decides between two hosts that work on the same instance: every write carries the ETag that was read.
 */
import { RestError, type TransactionAction } from '@azure/data-tables';
import { z } from 'zod';
import type { HistoryEvent } from './events.ts';
import { inBatches, rowKey, toEvent, toRow } from './historyRows.ts';
import type { LargeTexts } from './largeText.ts';
import { type TaskHub, tableKey } from './taskHub.ts';
import { unlessStatus } from './unlessStatus.ts';

export interface StoredHistory {
  executionId: string;
  events: HistoryEvent[];
  /** Index of the first event of the last episode. */
  episodeStart: number;
  /** True if the last episode's messages were sent and its status written. */
  isPublished: boolean;
  /** JSON text. */
  customStatus: string | null;
  /** Row number of the first event. Rows of an earlier execution are never overwritten, only removed. */
  firstRow: number;
  etag: string;
}

export type Commit = Omit<StoredHistory, 'etag' | 'isPublished'> & {
  instanceId: string;
  /** Undefined if no history was found. */
  etag: string | undefined;
};

export interface HistoryTable {
  read(instanceId: string): Promise<StoredHistory | undefined>;
  /**
   * Writes the events from `episodeStart` on. Resolves with the new ETag or undefined, as `markPublished`.
   */
  commit(commit: Commit): Promise<string | undefined>;
  /** Resolves with the new ETag, or undefined if another host was first. */
  markPublished(instanceId: string, etag: string): Promise<string | undefined>;
  /** Removes the rows of earlier executions. */
  removeBefore(instanceId: string, firstRow: number): Promise<void>;
  remove(instanceId: string): Promise<void>;
}

const sentinelKey = 'sentinel';
const sentinelRow = z.object({
  ExecutionId: z.string(),
  FirstRow: z.int(),
  EventCount: z.int(),
  EpisodeStart: z.int(),
  IsCheckpointComplete: z.boolean(),
  CustomStatus: z.string().nullish(),
  etag: z.string(),
});

export function historyTable({ history }: TaskHub, large: LargeTexts): HistoryTable {
  async function rows(instanceId: string): Promise<Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    const filter = `PartitionKey eq '${tableKey(instanceId)}'`;
    for await (const row of history.listEntities<Record<string, unknown>>({ queryOptions: { filter } })) {
      found.push(row);
    }
    return found;
  }

  return {
    async read(instanceId) {
      for (let attempt = 0; attempt < 10; attempt++) {
        const found = await rows(instanceId);
        const last = found.find((row) => row.rowKey === sentinelKey);
        if (last === undefined) return undefined;
        const sentinel = sentinelRow.parse(last);
        const { FirstRow, EventCount } = sentinel;
        const [from, to] = [rowKey(FirstRow), rowKey(FirstRow + EventCount)];
        const committed = found.filter(
          ({ rowKey: key }) => typeof key === 'string' && key >= from && key < to,
        );
        // The pages of a query are not a snapshot: the sentinel may be newer than the rows. Then read again.
        if (committed.length !== EventCount) continue;
        return {
          executionId: sentinel.ExecutionId,
          events: await Promise.all(committed.map((row) => toEvent(row, large))),
          episodeStart: sentinel.EpisodeStart,
          isPublished: sentinel.IsCheckpointComplete,
          customStatus: sentinel.CustomStatus || null,
          firstRow: FirstRow,
          etag: sentinel.etag,
        };
      }
      throw new Error(`the history of ${instanceId} lacks rows that its sentinel counts`);
    },

    async commit(commit) {
      const fresh = await Promise.all(
        commit.events
          .slice(commit.episodeStart)
          .map((event, index) => toRow(event, commit, commit.firstRow + commit.episodeStart + index, large)),
      );
      const batches = inBatches(fresh);
      let { etag } = commit;
      for (const [index, batch] of batches.entries()) {
        // Until the last batch only the sentinel's ETag changes: readers see the history as it was.
        const sentinel = index === batches.length - 1 ? newSentinel(commit) : { CommitInProgress: index };
        const row = { partitionKey: tableKey(commit.instanceId), rowKey: sentinelKey };
        const guard: TransactionAction =
          etag === undefined
            ? ['create', { ...row, ...emptySentinel(commit), ...sentinel }]
            : ['update', { ...row, ...sentinel }, 'Merge', { etag }];
        etag = await written([guard, ...batch.map((one): TransactionAction => ['upsert', one, 'Replace'])]);
        if (etag === undefined) return undefined;
      }
      return etag;
    },

    async removeBefore(instanceId, firstRow) {
      for (const { partitionKey, rowKey: key } of await rows(instanceId)) {
        if (String(key) >= rowKey(firstRow)) continue;
        await history.deleteEntity(String(partitionKey), String(key)).catch(unlessStatus(404));
      }
    },

    async markPublished(instanceId, etag) {
      const sentinel = {
        partitionKey: tableKey(instanceId),
        rowKey: sentinelKey,
        IsCheckpointComplete: true,
      };
      return written([['update', sentinel, 'Merge', { etag }]]);
    },

    async remove(instanceId) {
      for (const { partitionKey, rowKey: key } of await rows(instanceId)) {
        await history.deleteEntity(String(partitionKey), String(key)).catch(unlessStatus(404));
      }
    },
  };

  async function written(actions: TransactionAction[]): Promise<string | undefined> {
    try {
      const { getResponseForEntity, subResponses } = await history.submitTransaction(actions);
      const etag = getResponseForEntity(sentinelKey)?.etag ?? subResponses[0]?.etag;
      if (etag === undefined) throw new Error('the table service answered a commit without an ETag');
      return etag;
    } catch (error) {
      if (error instanceof RestError && [404, 409, 412].includes(error.statusCode ?? 0)) return undefined;
      throw error;
    }
  }
}

function newSentinel(commit: Commit) {
  return {
    ExecutionId: commit.executionId,
    FirstRow: commit.firstRow,
    EventCount: commit.events.length,
    EpisodeStart: commit.episodeStart,
    IsCheckpointComplete: false,
    CustomStatus: commit.customStatus ?? '',
  };
}

function emptySentinel({ executionId, firstRow }: Commit) {
  return {
    ExecutionId: executionId,
    FirstRow: firstRow,
    EventCount: 0,
    EpisodeStart: 0,
    IsCheckpointComplete: true,
  };
}
