import type { Container, OperationInput } from '@azure/cosmos';
import { patchBody } from './cosmosPatch.ts';
import type { DocumentStore, Operation, Transacted } from './documentStore.ts';
import { PartitionFull, StoreAway } from './storeAway.ts';

/** The documents of one Cosmos container. */
export function cosmosDocuments(container: Container): DocumentStore {
  return {
    transact: (partition, operations) => runBatch(container, partition, operations.map(inputOf)),
    read: (partition, ids) =>
      fromCosmos(async () => {
        // `IN ()` is a syntax error.
        if (ids.length === 0) return [];
        const names = ids.map((_, index) => `@id${index}`);
        const query = `SELECT * FROM c WHERE c.id IN (${names.join(', ')})`;
        const parameters = ids.map((id, index) => ({ name: `@id${index}`, value: id }));
        const { resources } = await container.items
          .query<unknown>({ query, parameters }, { partitionKey: partition })
          .fetchAll();
        return resources;
      }),
  };
}

/**
 * Runs one transaction in the terms of Cosmos. The only caller of `items.batch`, which resolves even if the batch fails:
 * every result code is checked here. An aborted one is uncertain. @throws {StoreAway} the store refuses the app as such
 */
export async function runBatch(
  container: Container,
  partition: string,
  operations: OperationInput[],
  abortSignal?: AbortSignal,
): Promise<Transacted> {
  try {
    const options = { contentResponseOnWriteEnabled: false, ...(abortSignal && { abortSignal }) };
    const { result } = await fromCosmos(() => container.items.batch(operations, partition, options));
    const codes = (result ?? []).map(({ statusCode }) => statusCode);
    if (codes.length === operations.length && codes.every((code) => code < 300)) return { kind: 'committed' };
    // A role or a network rule refuses the whole request. One operation is forbidden where there is no room for it.
    if (codes.includes(cosmosStatus.forbidden)) throw new PartitionFull(partition, { codes });
    const busy = codes.find(isUncertainStatus);
    return busy === undefined ? { kind: 'refused', codes } : { kind: 'uncertain', cause: { code: busy } };
  } catch (error) {
    if (error instanceof StoreAway && error.reason === 'noAnswer') {
      return { kind: 'uncertain', cause: error.cause };
    }
    throw error;
  }
}

function inputOf(operation: Operation): OperationInput {
  if (operation.kind !== 'patch') {
    const resourceBody = { ...operation.document };
    if (operation.kind === 'create') return { operationType: 'Create', resourceBody };
    const { id } = resourceBody;
    return { operationType: 'Replace', id, ifMatch: operation.version, resourceBody };
  }
  const { id, version } = operation;
  return {
    operationType: 'Patch',
    id,
    ...(version === undefined ? {} : { ifMatch: version }),
    resourceBody: patchBody(operation),
  };
}

/** The status codes that the app tells apart (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
export const cosmosStatus = {
  badRequest: 400,
  unauthorized: 401,
  forbidden: 403,
  notFound: 404,
  requestTimeout: 408,
  conflict: 409,
  preconditionFailed: 412,
  tooManyRequests: 429,
  retryWith: 449,
} as const;

/**
 * The boundary at which errors of the Cosmos SDK become the app's own: runs `request` and turns an error that means "not
 * now" into `StoreAway`, with the SDK's error as its cause. Other errors pass through.
 */
export async function fromCosmos<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    const reason = whyAway(error);
    throw reason === undefined ? error : new StoreAway(reason, error);
  }
}

/** The status code of an error that the Cosmos SDK threw; undefined if the service gave none. */
export function statusOf(error: unknown): number | undefined {
  const code = codeOf(error);
  return typeof code === 'number' ? code : undefined;
}

/** Whether a request with this status may work later, and may even have been applied. */
export function isUncertainStatus(status: number): boolean {
  return (
    status === cosmosStatus.requestTimeout ||
    status === cosmosStatus.tooManyRequests ||
    status === cosmosStatus.retryWith ||
    status >= 500
  );
}

function whyAway(error: unknown): StoreAway['reason'] | undefined {
  const code = codeOf(error);
  // Letters instead of a number: a socket or a time-out ended the request.
  if (typeof code === 'string' || isUnreadable(error)) return 'noAnswer';
  if (typeof code !== 'number') return undefined;
  if (isUncertainStatus(code)) return 'noAnswer';
  if (code === cosmosStatus.forbidden && codeOf(error, 'substatus') === partitionFull) return 'full';
  return code === cosmosStatus.unauthorized || code === cosmosStatus.forbidden ? 'accessDenied' : undefined;
}

/**
 * An answer that is not the service's: a gateway in front of it says 503 with a page, or with nothing. The SDK (4.x,
 * RequestHandler.js) parses every body as JSON and reads `message` of it, so it throws a `SyntaxError`, or a `TypeError` of
 * its own.
 */
function isUnreadable(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  return error instanceof TypeError && (error.stack ?? '').includes('RequestHandler');
}

/** Substatus of a 403 (https://learn.microsoft.com/azure/cosmos-db/nosql/troubleshoot-forbidden). */
const partitionFull = 1014;

/** `items.batch` wraps the error it threw, and only the cause has the code. */
function codeOf(error: unknown, name: 'code' | 'substatus' = 'code'): unknown {
  if (typeof error !== 'object' || error === null || error instanceof StoreAway) return undefined;
  const found = (error as Partial<Record<typeof name, unknown>>)[name];
  if (found !== undefined) return found;
  if (error instanceof Error && error.cause !== undefined) return codeOf(error.cause, name);
  return error instanceof Error && /^(Abort|Timeout)Error$/.test(error.name) ? error.name : undefined;
}

/** The answer to a write on a condition; undefined if that does not hold. @throws {StoreAway} */
export async function unlessChanged<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await fromCosmos(write);
  } catch (error) {
    if (statusOf(error) !== cosmosStatus.preconditionFailed) throw error;
    return undefined;
  }
}

/** The answer to a write on a condition; undefined if that does not hold, or there is no such document. @throws {StoreAway} */
export async function unlessRefused<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await unlessChanged(write);
  } catch (error) {
    if (statusOf(error) !== cosmosStatus.notFound) throw error;
    return undefined;
  }
}

/** Creates a document; false if there is one with its id. @throws {StoreAway} */
export async function createUnlessThere(container: Container, document: { id: string }): Promise<boolean> {
  try {
    await fromCosmos(() => container.items.create(document));
    return true;
  } catch (error) {
    if (statusOf(error) !== cosmosStatus.conflict) throw error;
    return false;
  }
}
