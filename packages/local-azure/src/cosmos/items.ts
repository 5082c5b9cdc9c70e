import { isUnmodified, requireMatch } from './conditions.ts';
import type { Container } from './container.ts';
import { alreadyExists, badRequest, itemNotFound, preconditionFailed, subStatus } from './errors.ts';
import type { ItemRow } from './itemTable.ts';
import type { JsonObject } from './json.ts';
import { partitionOfItem } from './partitionKey.ts';
import { applyPatch } from './patch.ts';
import type { PatchRequest } from './patchRequest.ts';
import { readCharge, replaceCharge, writeCharge } from './requestCharge.ts';
import { etagOf } from './resourceIds.ts';
import { expiryOf } from './ttl.ts';
import { idOf, requireItemSize, requireNesting } from './validation.ts';

/** The outcome of one operation. Refusals are thrown as CosmosError. */
export interface Done {
  status: 200 | 201 | 204 | 304;
  /** The item as JSON text, if the operation returns one. */
  doc?: string;
  etag?: string;
  charge: number;
}

/** One transaction in a container. All its writes share one LSN. */
export interface Transaction {
  container: Container;
  /** Unix seconds. */
  now: number;
  lsn: number;
  /**
   * True if a patch's `condition` holds for an item: its row, and its text parsed without system properties.
   */
  holds(condition: string, row: ItemRow, item: JsonObject): boolean;
}

/** The target of an operation: canonical partition key and id. */
export interface Address {
  partition: string;
  id: string;
}

export function readItem(
  { container, now }: Pick<Transaction, 'container' | 'now'>,
  { partition, id }: Address,
  ifNoneMatch?: string,
): Done {
  const row = container.table.get(partition, id);
  if (row === undefined || isExpired(row, now)) throw itemNotFound();
  if (isUnmodified(ifNoneMatch, row.etag)) return { status: 304, etag: row.etag, charge: readCharge(0) };
  return { status: 200, doc: row.doc, etag: row.etag, charge: readCharge(row.doc.length) };
}

export function createItem(transaction: Transaction, partition: string, item: JsonObject): Done {
  const id = idOf(item);
  requirePartition(transaction.container, partition, item);
  if (liveRow(transaction, { partition, id }) !== undefined) throw alreadyExists();
  return insert(transaction, { partition, id }, item);
}

/** `If-Match` applies only to an existing item: the service creates a missing one regardless. */
export function upsertItem(
  transaction: Transaction,
  partition: string,
  item: JsonObject,
  ifMatch?: string,
): Done {
  const id = idOf(item);
  requirePartition(transaction.container, partition, item);
  const row = liveRow(transaction, { partition, id });
  if (row === undefined) return insert(transaction, { partition, id }, item);
  requireMatch(ifMatch, row.etag);
  return update(transaction, row, item);
}

export function replaceItem(
  transaction: Transaction,
  address: Address,
  item: JsonObject,
  ifMatch?: string,
): Done {
  const id = idOf(item);
  requirePartition(transaction.container, address.partition, item);
  if (id !== address.id)
    throw badRequest(`The item's id '${id}' differs from the id '${address.id}' in the address.`);
  const row = requireRow(transaction, address);
  requireMatch(ifMatch, row.etag);
  return update(transaction, row, item);
}

export function patchItem(
  transaction: Transaction,
  address: Address,
  { operations, condition }: PatchRequest,
  ifMatch?: string,
): Done {
  const row = requireRow(transaction, address);
  requireMatch(ifMatch, row.etag);
  // We wrote the stored text from a JSON object.
  const item = JSON.parse(withoutSystemText(row.doc)) as JsonObject;
  if (condition !== undefined && !transaction.holds(condition, row, item))
    throw preconditionFailed(subStatus.patchConditionNotMet);
  applyPatch(item, operations, transaction.container.partitionKey.paths);
  return update(transaction, row, item);
}

export function deleteItem(transaction: Transaction, address: Address, ifMatch?: string): Done {
  const row = requireRow(transaction, address);
  requireMatch(ifMatch, row.etag);
  transaction.container.table.remove(row.rid);
  return { status: 204, charge: writeCharge(row.doc.length) };
}

function insert({ container, now, lsn }: Transaction, { partition, id }: Address, item: JsonObject): Done {
  const rid = container.next();
  const version = newVersion(container, rid, item, now);
  container.table.insert(rid, partition, id, { ...version, ts: now, lsn });
  return { status: 201, doc: version.doc, etag: version.etag, charge: writeCharge(version.doc.length) };
}

function update({ container, now, lsn }: Transaction, { rid }: ItemRow, item: JsonObject): Done {
  const version = newVersion(container, rid, item, now);
  container.table.update(rid, { ...version, ts: now, lsn });
  return { status: 200, doc: version.doc, etag: version.etag, charge: replaceCharge(version.doc.length) };
}

const systemProperties = ['_rid', '_self', '_etag', '_attachments', '_ts'];

/** Makes the text of an item with its system properties, overriding any that the client sent. */
function newVersion(container: Container, row: number, item: JsonObject, ts: number) {
  const expires = expiryOf(item, ts, container.defaultTtl);
  const etag = etagOf(container.number, container.next());
  const rid = container.ridOf(row);
  const own = systemProperties.some((name) => name in item) ? withoutSystemProperties(item) : item;
  requireNesting(own);
  const doc =
    `${JSON.stringify(own).slice(0, -1)},"_rid":"${rid}","_self":"${container.self}docs/${rid}/",` +
    `"_etag":"\\${etag.slice(0, -1)}\\"","_attachments":"attachments/","_ts":${ts}}`;
  requireItemSize(doc);
  return { doc, etag, expires };
}

/** Cuts the system properties off stored text, where `newVersion` put them at the end. */
function withoutSystemText(doc: string): string {
  return `${doc.slice(0, doc.lastIndexOf(',"_rid":"'))}}`;
}

function withoutSystemProperties(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !systemProperties.includes(name)));
}

function requirePartition(container: Container, partition: string, item: JsonObject): void {
  if (partitionOfItem(item, container.partitionKey) !== partition) {
    throw badRequest(
      "PartitionKey extracted from document doesn't match the one specified in the header. " +
        'Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value',
      subStatus.partitionKeyMismatch,
    );
  }
}

function requireRow(transaction: Transaction, address: Address): ItemRow {
  const row = liveRow(transaction, address);
  if (row === undefined) throw itemNotFound();
  return row;
}

/** The unexpired item at an address. An expired one is deleted, so its id is free at once. */
function liveRow({ container, now }: Transaction, { partition, id }: Address): ItemRow | undefined {
  const row = container.table.get(partition, id);
  if (row === undefined || !isExpired(row, now)) return row;
  container.table.remove(row.rid);
  return undefined;
}

const isExpired = ({ expires }: ItemRow, now: number) => expires !== null && expires <= now;
