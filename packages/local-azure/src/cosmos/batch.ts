import type { Container } from './container.ts';
import { badRequest, CosmosError, preconditionFailed, rangeGone } from './errors.ts';
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
import { isObject, type JsonObject, type JsonValue } from './json.ts';
import { partitionOfHeader } from './partitionKey.ts';
import { parsePatch } from './patchRequest.ts';
import type { Range } from './ranges.ts';
import { refusedCharge } from './requestCharge.ts';
import { limits } from './validation.ts';

/** The outcome of a batch or bulk request: 200 if every operation succeeded, else 207. */
export interface BatchDone {
  status: 200 | 207;
  /** JSON text: an array with one result per operation. */
  body: string;
  charge: number;
}

/** Thrown inside the transaction of an atomic batch to roll it back. */
class BatchRefused extends Error {
  readonly at: number;
  override readonly cause: CosmosError;

  constructor(at: number, cause: CosmosError) {
    super(`Operation ${at} of the batch was refused.`);
    this.at = at;
    this.cause = cause;
  }
}

/** Runs `work` as one SQL transaction with one LSN. Rolls back if it throws. */
export type InTransaction = <T>(container: Container, work: (transaction: Transaction) => T) => T;

/**
 * Runs a transactional batch: all operations in order, or none
 * (https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch). If one is refused, it keeps its
 * own status in the results and all others get 424.
 */
export function runBatch(
  inTransaction: InTransaction,
  container: Container,
  { partition, body, minimal }: { partition: string; body: JsonValue; minimal: boolean },
): BatchDone {
  const operations = parseOperations(body);
  for (const { partitionKey } of operations) {
    if (partitionKey !== undefined && partitionOf(partitionKey, container) !== partition)
      throw badRequest(
        'One or more operations within the batch request have a different partition key value than the request.',
      );
  }
  try {
    const done = inTransaction(container, (transaction) =>
      operations.map((operation, at) => {
        try {
          return run(transaction, partition, operation);
        } catch (error) {
          if (error instanceof CosmosError && error.status !== 501) throw new BatchRefused(at, error);
          throw error;
        }
      }),
    );
    return success(
      done.map((each) => resultOf(each, minimal)),
      done,
    );
  } catch (error) {
    if (!(error instanceof BatchRefused)) throw error;
    const results = operations.map((_, at) => (at === error.at ? refusal(error.cause) : dependent));
    return { status: 207, body: `[${results.join(',')}]`, charge: refusedCharge };
  }
}

/** Runs a bulk request: independent operations on any partitions of one range, if it names one. */
export function runBulk(
  inTransaction: InTransaction,
  container: Container,
  {
    body,
    minimal,
    continueOnError,
    range,
  }: { body: JsonValue; minimal: boolean; continueOnError: boolean; range: Range | undefined },
): BatchDone {
  const operations = parseOperations(body);
  const done: Done[] = [];
  let refused = false;
  // Each operation makes all its checks before its single statement: the shared transaction is only for speed.
  const results = inTransaction(container, (transaction) =>
    operations.map((operation) => {
      if (refused && !continueOnError) return dependent;
      try {
        const own = { ...transaction, lsn: container.next() };
        const partition = partitionOf(operation.partitionKey, container);
        if (range !== undefined && container.ranges.of(partition) !== range) throw rangeGone();
        const each = run(own, partition, operation);
        done.push(each);
        return resultOf(each, minimal);
      } catch (error) {
        if (!(error instanceof CosmosError)) throw error;
        refused = true;
        return refusal(error);
      }
    }),
  );
  return refused ? { ...success(results, done), status: 207 } : success(results, done);
}

interface BatchOperation {
  operationType: string;
  id?: JsonValue;
  partitionKey?: JsonValue;
  ifMatch?: string;
  ifNoneMatch?: string;
  resourceBody?: JsonValue;
}

function parseOperations(body: JsonValue): BatchOperation[] {
  if (!Array.isArray(body) || body.length === 0) throw badRequest('The batch request has no operations.');
  if (body.length > limits.batchOperations) {
    throw badRequest(
      `Batch request has more operations than what is supported. Found ${body.length}; the maximum is ${limits.batchOperations}.`,
    );
  }
  for (const operation of body) requireOperation(operation);
  return body as unknown as BatchOperation[];
}

function requireOperation(operation: JsonValue): void {
  if (!isObject(operation)) throw badRequest('A batch operation must be an object.');
  const { operationType, ifMatch, ifNoneMatch } = operation;
  if (typeof operationType !== 'string') throw badRequest('A batch operation has no operationType.');
  for (const etag of [ifMatch, ifNoneMatch]) {
    if (etag !== undefined && typeof etag !== 'string')
      throw badRequest('ifMatch and ifNoneMatch of a batch operation must be strings.');
  }
}

function partitionOf(partitionKey: JsonValue | undefined, { partitionKey: rule }: Container): string {
  if (typeof partitionKey !== 'string')
    throw badRequest('PartitionKey value must be supplied for this operation.');
  return partitionOfHeader(partitionKey, rule);
}

function run(transaction: Transaction, partition: string, operation: BatchOperation): Done {
  const { operationType, ifMatch, ifNoneMatch, resourceBody } = operation;
  const address = () => ({ partition, id: idOf(operation) });
  switch (operationType) {
    case 'Create':
      return createItem(transaction, partition, itemOf(resourceBody));
    case 'Upsert':
      return upsertItem(transaction, partition, itemOf(resourceBody), ifMatch);
    case 'Replace':
      return replaceItem(transaction, address(), itemOf(resourceBody), ifMatch);
    case 'Delete':
      return deleteItem(transaction, address(), ifMatch);
    case 'Patch':
      return patchItem(transaction, address(), parsePatch(resourceBody ?? null), ifMatch);
    case 'Read': {
      const done = readItem(transaction, address(), ifNoneMatch);
      if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== done.etag) throw preconditionFailed();
      return done;
    }
    default:
      throw badRequest(`The operation type '${operationType}' of a batch operation is not supported.`);
  }
}

function idOf({ id }: BatchOperation): string {
  if (typeof id !== 'string') throw badRequest('A batch operation has no id.');
  return id;
}

function itemOf(body: JsonValue | undefined): JsonObject {
  if (!isObject(body)) throw badRequest('The resourceBody of a batch operation must be an object.');
  return body;
}

function success(results: string[], done: Done[]): BatchDone {
  const charge = done.reduce((sum, each) => sum + each.charge, 0);
  return { status: 200, body: `[${results.join(',')}]`, charge: Math.round(charge * 100) / 100 };
}

/** Builds the result as text, because the item already is JSON text. */
function resultOf({ status, doc, etag, charge }: Done, minimal: boolean): string {
  const tag = etag === undefined ? '' : `,"eTag":${JSON.stringify(etag)}`;
  const resource = doc === undefined || minimal ? '' : `,"resourceBody":${doc}`;
  return `{"statusCode":${status},"requestCharge":${charge}${tag}${resource}}`;
}

const dependent = '{"statusCode":424,"subStatusCode":0,"requestCharge":0}';

function refusal({ status, subStatus, message }: CosmosError): string {
  return JSON.stringify({
    statusCode: status,
    subStatusCode: subStatus,
    requestCharge: refusedCharge,
    message,
  });
}
