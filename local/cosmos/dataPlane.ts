import type { IncomingHttpHeaders } from 'node:http';
import type { DatabaseSync } from 'node:sqlite';
import { type Answer, type CosmosRequest, headerOf } from './answer.ts';
import { type BatchDone, type InTransaction, runBatch, runBulk } from './batch.ts';
import type { Container } from './container.ts';
import { badRequest, CosmosError, notCovered, subStatus } from './errors.ts';
import { pageSizeOf, readChangeFeed, readFeed } from './feeds.ts';
import { isIndexedBy, requireSortIndex } from './indexingPolicy.ts';
import {
  createItem,
  type Done,
  deleteItem,
  patchItem,
  readItem,
  replaceItem,
  type Transaction,
  upsertItem,
} from './items.ts';
import { parseJson, parseObject } from './json.ts';
import { type DataOperation, isTrue, isWrite } from './operation.ts';
import { partitionOfHeader } from './partitionKey.ts';
import { createConditionCheck } from './patchCondition.ts';
import { parsePatch } from './patchRequest.ts';
import { parseQuery, queryToJson } from './queries.ts';
import { queryCharge } from './requestCharge.ts';
import { inTransaction } from './storage.ts';

/** Runs the operations that read and write items. */
export function createDataPlane(db: DatabaseSync, now: () => number) {
  const conditionHolds = createConditionCheck();
  const seconds = () => Math.floor(now() / 1000);

  function transactionOf(container: Container): Transaction {
    const at = seconds();
    const holds: Transaction['holds'] = (condition, row, item) => conditionHolds(condition, row, item, at);
    return { container, now: at, lsn: container.next(), holds };
  }

  const atomically: InTransaction = (container, work) =>
    inTransaction(db, () => work(transactionOf(container)));

  /** @param item the id from the path, for operations on one item */
  return function answer(
    operation: DataOperation,
    container: Container,
    item: string | undefined,
    request: CosmosRequest,
  ): Answer {
    const { headers, body } = request;
    requireRange(headers);
    container.reapNowAndThen(now());
    if (isWrite(operation)) container.reserve();
    else requireSession(headers, container);
    const ifMatch = headerOf(headers, 'if-match');
    const minimal = headerOf(headers, 'prefer')?.toLowerCase() === 'return=minimal';
    const partition = () => requiredPartition(headers, container);
    const address = () => ({ partition: partition(), id: item ?? '' });
    const done = (result: Done) => itemAnswer(result, minimal && isWrite(operation));
    switch (operation) {
      case 'create':
        return done(createItem(transactionOf(container), partition(), parseObject(body)));
      case 'upsert':
        return done(upsertItem(transactionOf(container), partition(), parseObject(body), ifMatch));
      case 'read':
        return done(readItem({ container, now: seconds() }, address(), headerOf(headers, 'if-none-match')));
      case 'replace':
        return done(replaceItem(transactionOf(container), address(), parseObject(body), ifMatch));
      case 'patch':
        return done(patchItem(transactionOf(container), address(), parsePatch(parseJson(body)), ifMatch));
      case 'delete':
        return done(deleteItem(transactionOf(container), address(), ifMatch));
      case 'batch':
        return batchAnswer(
          runBatch(atomically, container, { partition: partition(), body: parseJson(body), minimal }),
        );
      case 'bulk': {
        const continueOnError = headerOf(headers, 'x-ms-cosmos-batch-continue-on-error') !== 'false';
        return batchAnswer(
          runBulk(atomically, container, { body: parseJson(body), minimal, continueOnError }),
        );
      }
      case 'query':
        return runQuery(container, request);
      case 'readFeed': {
        const page = readFeed(db, source(container, headers), headerOf(headers, 'x-ms-continuation'));
        return feedAnswer(container, page.docs, page.charge, page.continuation);
      }
      case 'changeFeed':
        return changeFeed(container, headers);
    }
  };

  function source(container: Container, headers: IncomingHttpHeaders) {
    const pageSize = pageSizeOf(headerOf(headers, 'x-ms-max-item-count'));
    return { container, partition: partitionOf(headers, container), now: seconds(), pageSize };
  }

  function runQuery(container: Container, { headers, body }: CosmosRequest): Answer {
    const { partition, now: nowSeconds, pageSize } = source(container, headers);
    if (partition === undefined && !isTrue(headers['x-ms-documentdb-query-enablecrosspartition'])) {
      throw badRequest(
        'Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to ' +
          'true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.',
      );
    }
    const {
      json: docs,
      continuation,
      visited,
    } = queryToJson(
      db,
      {
        table: container.table.name,
        partition,
        nowSeconds,
        requireSortIndex: (sorted) => requireSortIndex(container.definition.indexingPolicy, sorted),
        isIndexed: (path) => isIndexedBy(container.definition.indexingPolicy, path),
      },
      parseQuery(body),
      { maxItems: pageSize, continuation: headerOf(headers, 'x-ms-continuation') },
    );
    const bytes = docs.reduce((sum, { length }) => sum + length, 0);
    return feedAnswer(container, docs, queryCharge(visited, bytes), continuation);
  }

  function changeFeed(container: Container, headers: IncomingHttpHeaders): Answer {
    if (headerOf(headers, 'a-im')?.toLowerCase() !== 'incremental feed')
      throw notCovered('the change feed of all versions and deletes');
    const { docs, etag, charge } = readChangeFeed(
      db,
      source(container, headers),
      headerOf(headers, 'if-none-match'),
      sinceOf(headers),
    );
    const answer = feedAnswer(container, docs, charge, undefined);
    const withEtag = { ...answer, headers: { ...answer.headers, etag } };
    return docs.length === 0 ? { ...withEtag, status: 304, body: '' } : withEtag;
  }
}

/** @throws {CosmosError} 410 for any partition key range but 0, the only one */
function requireRange(headers: IncomingHttpHeaders): void {
  const range = headerOf(headers, 'x-ms-documentdb-partitionkeyrangeid');
  if (range !== undefined && range !== '0')
    throw new CosmosError(410, `There is no partition key range ${range}.`, {
      subStatus: subStatus.partitionKeyRangeGone,
    });
}

/**
 * @throws {CosmosError} 404 with sub-status 1002 if the session token is ahead of the container, as after
 *   data loss
 */
function requireSession(headers: IncomingHttpHeaders, { lsn }: Container): void {
  const token = headerOf(headers, 'x-ms-session-token');
  if (token === undefined) return;
  const seen = Number(/^0:[^#,]*#(\d+)/.exec(token)?.[1] ?? 0);
  if (seen > lsn)
    throw new CosmosError(404, 'The read session is not available for the input session token.', {
      subStatus: subStatus.readSessionNotAvailable,
    });
}

function partitionOf(headers: IncomingHttpHeaders, { partitionKey }: Container): string | undefined {
  const header = headerOf(headers, 'x-ms-documentdb-partitionkey');
  return header === undefined ? undefined : partitionOfHeader(header, partitionKey);
}

function requiredPartition(headers: IncomingHttpHeaders, container: Container): string {
  const partition = partitionOf(headers, container);
  if (partition === undefined) throw badRequest('PartitionKey value must be supplied for this operation.');
  return partition;
}

function sinceOf(headers: IncomingHttpHeaders): number | undefined {
  const since = headerOf(headers, 'if-modified-since');
  if (since === undefined) return undefined;
  const at = Date.parse(since);
  if (Number.isNaN(at)) throw badRequest(`The If-Modified-Since '${since}' is not a date.`);
  return Math.floor(at / 1000);
}

function itemAnswer({ status, doc, etag, charge }: Done, minimal: boolean): Answer {
  const headers: Record<string, string> = { 'x-ms-request-charge': String(charge) };
  if (etag !== undefined) headers.etag = etag;
  return { status, headers, body: minimal ? '' : (doc ?? '') };
}

function batchAnswer({ status, body, charge }: BatchDone): Answer {
  return { status, headers: { 'x-ms-request-charge': String(charge) }, body };
}

function feedAnswer(
  { rid }: Container,
  docs: string[],
  charge: number,
  continuation: string | undefined,
): Answer {
  const headers: Record<string, string> = {
    'x-ms-request-charge': String(charge),
    'x-ms-item-count': String(docs.length),
  };
  if (continuation !== undefined) headers['x-ms-continuation'] = continuation;
  return {
    status: 200,
    headers,
    body: `{"_rid":"${rid}","Documents":[${docs.join(',')}],"_count":${docs.length}}`,
  };
}
