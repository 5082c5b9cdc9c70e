/** Events as rows of the table `{hub}History`; large texts go to blobs. */
import type { TableEntity } from '@azure/data-tables';
import { type HistoryEvent, historyEvent, parentInstance } from './events.ts';
import type { LargeTexts } from './largeText.ts';
import { tableKey } from './taskHub.ts';

/** A table property holds 64 KiB of UTF-16. */
const maximumCharacters = 30_000;
/** A transaction takes 100 rows and 4 MiB; the sentinel is one of them. */
const maximumRows = 99;
const maximumTransactionCharacters = 1_000_000;
const largeColumns = ['Input', 'Result', 'Details', 'Reason'];

/** @param index number of the row */
export async function toRow(
  event: HistoryEvent,
  { instanceId, executionId }: { instanceId: string; executionId: string },
  index: number,
  large: LargeTexts,
): Promise<TableEntity> {
  const { EventType, EventId, Timestamp, ...members } = event;
  const row: TableEntity = {
    partitionKey: tableKey(instanceId),
    rowKey: rowKey(index),
    ExecutionId: executionId,
    EventType,
    EventId,
    _Timestamp: Timestamp,
  };
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue;
    if (typeof value === 'string' && largeColumns.includes(name) && value.length > maximumCharacters) {
      row[`${name}BlobName`] = await large.put(instanceId, value);
    } else {
      row[name] = typeof value === 'object' ? JSON.stringify(value) : value;
    }
  }
  return row;
}

export async function toEvent(row: Record<string, unknown>, large: LargeTexts): Promise<HistoryEvent> {
  const event: Record<string, unknown> = {
    Input: null,
    Result: null,
    Version: null,
    ...row,
    Timestamp: row._Timestamp,
    ParentInstance:
      typeof row.ParentInstance === 'string' ? parentInstance.parse(JSON.parse(row.ParentInstance)) : null,
  };
  for (const name of largeColumns) {
    const blob = row[`${name}BlobName`];
    if (typeof blob === 'string') event[name] = await large.get(blob);
  }
  return historyEvent.parse(event);
}

/** Sorts as the index does, and before `sentinel`. */
export function rowKey(index: number): string {
  return index.toString(16).toUpperCase().padStart(16, '0');
}

/**
 * Splits rows by transaction. Yields at least one batch, so that the sentinel is written even without events.
 */
export function inBatches(rows: TableEntity[]): TableEntity[][] {
  const batches: TableEntity[][] = [[]];
  let characters = 0;
  for (const row of rows) {
    const size = JSON.stringify(row).length;
    const batch = batches.at(-1);
    if (batch === undefined) break;
    if (
      batch.length >= maximumRows ||
      (batch.length > 0 && characters + size > maximumTransactionCharacters)
    ) {
      batches.push([row]);
      characters = size;
    } else {
      batch.push(row);
      characters += size;
    }
  }
  return batches;
}
