import type { IncomingHttpHeaders } from 'node:http';
import type { DatabaseSync } from 'node:sqlite';
import { type Answer, type CosmosRequest, headerOf } from './answer.ts';
import { type BatchDone, type InTransaction, runBatch, runBulk } from './batch.ts';
import type { Container } from './container.ts';
import { badRequest, notCovered } from './errors.ts';
import { pageSizeOf, readChangeFeed, readFeed } from './feeds.ts';
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
import { feedAnswer, pageOf } from './pages.ts';
import { createConditionCheck } from './patchCondition.ts';
import { parsePatch } from './patchRequest.ts';
import {
  mustMerge,
  notServedByGateway,
  parseQuery,
  queryToJson,
  rangesToAsk,
  requireCrossPartition,
  sourceOf,
} from './queries.ts';
import type { Range } from './ranges.ts';
import { queryCharge } from './requestCharge.ts';
import { partitionOf, rangeOfRequest, requiredPartition, requireSession, scopeOf } from './requestScope.ts';
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
    const range = rangeOfRequest(headers, container);
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
          runBulk(atomically, container, { body: parseJson(body), minimal, continueOnError, range }),
        );
      }
      case 'query':
        return runQuery(container, request, range);
      case 'readFeed':
        return pageOf(container, request, { range, asked: container.ranges.all }, (place) => {
          const page = readFeed(db, source(container, headers, place.range), place.continuation);
          return { ...page, json: page.docs };
        });
      case 'changeFeed':
        return changeFeed(container, headers, range);
    }
  };

  function source(container: Container, headers: IncomingHttpHeaders, range: Range | undefined) {
    const pageSize = pageSizeOf(headerOf(headers, 'x-ms-max-item-count'));
    const partition = partitionOf(headers, container);
    return { container, partition, range: scopeOf(container, range), now: seconds(), pageSize };
  }

  function runQuery(container: Container, request: CosmosRequest, range: Range | undefined): Answer {
    const { headers, body } = request;
    const query = parseQuery(body);
    if (partitionOf(headers, container) === undefined) {
      requireCrossPartition(headers);
      if (range === undefined && mustMerge(query.query)) throw notServedByGateway(query, container);
    }
    const asked = range === undefined ? rangesToAsk(query, container) : [range];
    const started = performance.now();
    let metrics = '';
    const answer = pageOf(container, request, { range, asked }, (place) => {
      const { partition, now: nowSeconds, pageSize } = source(container, headers, place.range);
      const page = queryToJson(
        db,
        sourceOf(container, nowSeconds, { partition, range: scopeOf(container, place.range) }),
        query,
        { maxItems: pageSize, continuation: place.continuation },
      );
      const bytes = page.json.reduce((sum, { length }) => sum + length, 0);
      metrics =
        `totalExecutionTimeInMs=${(performance.now() - started).toFixed(2)};retrievedDocumentCount=${page.visited};` +
        `outputDocumentCount=${page.json.length};outputDocumentSize=${bytes}`;
      return { ...page, charge: queryCharge(page.visited, bytes) };
    });
    if (!isTrue(headers['x-ms-documentdb-populatequerymetrics'])) return answer;
    return { ...answer, headers: { ...answer.headers, 'x-ms-documentdb-query-metrics': metrics } };
  }

  function changeFeed(container: Container, headers: IncomingHttpHeaders, range: Range | undefined): Answer {
    if (headerOf(headers, 'a-im')?.toLowerCase() !== 'incremental feed')
      throw notCovered('the change feed of all versions and deletes');
    if (range === undefined)
      throw notCovered('the change feed of several partition key ranges in one request');
    const { docs, etag, charge } = readChangeFeed(
      db,
      source(container, headers, range),
      headerOf(headers, 'if-none-match'),
      sinceOf(headers),
    );
    const answer = feedAnswer(container, docs, charge, undefined);
    const withEtag = { ...answer, headers: { ...answer.headers, etag } };
    return docs.length === 0 ? { ...withEtag, status: 304, body: '' } : withEtag;
  }
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
