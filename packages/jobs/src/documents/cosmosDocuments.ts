import type { Container, OperationInput, PatchOperation, SqlQuerySpec } from '@azure/cosmos';
import { z } from 'zod';
import {
  type DocumentStore,
  type Operation,
  PartitionFull,
  type Patch,
  refusedBecause,
  StoreAway,
  type Transacted,
} from './documentStore.ts';
import { canBeId } from './storedDocuments.ts';

/** The documents of one Cosmos container. */
export function cosmosDocuments(container: Container): DocumentStore {
  return {
    transact: (partition, operations) => runBatch(container, partition, operations.map(inputOf)),
    async read(partition, ids) {
      // `IN ()` is a syntax error.
      if (ids.length === 0) return [];
      const parameters = ids.map((id, index) => ({ name: `@id${index}`, value: id }));
      const query = `SELECT * FROM c WHERE c.id IN (${parameters.map(({ name }) => name).join(', ')})`;
      return queryAll(container, { query, parameters }, partition);
    },
  };
}

/** Runs a transaction. `items.batch` resolves even if it fails: each code is checked. @throws {StoreAway} all is refused */
export async function runBatch(
  container: Container,
  partition: string,
  operations: OperationInput[],
): Promise<Transacted> {
  try {
    const options = { contentResponseOnWriteEnabled: false };
    const { result } = await container.items.batch(operations, partition, options);
    const codes = (result ?? []).map(({ statusCode }) => statusCode);
    if (codes.length === operations.length && codes.every((code) => code < 300)) return { kind: 'committed' };
    // A role or a network rule refuses the whole request. One operation is forbidden where there is no room for it.
    if (codes.includes(cosmosStatus.forbidden)) throw new PartitionFull(partition, { codes });
    const busy = codes.find(isUncertainStatus);
    return busy === undefined ? { kind: 'refused', codes } : { kind: 'uncertain', cause: { code: busy } };
  } catch (thrown) {
    const error = inOurTerms(thrown);
    if (error instanceof StoreAway && error.reason === 'noAnswer')
      return { kind: 'uncertain', cause: error.cause };
    throw error;
  }
}

function inputOf(operation: Operation): OperationInput {
  if (operation.kind === 'patch') {
    const { id, version } = operation;
    const condition = version === undefined ? {} : { ifMatch: version };
    return { operationType: 'Patch', id, ...condition, resourceBody: patchBody(operation) };
  }
  const resourceBody = { ...operation.document };
  if (operation.kind === 'create') return { operationType: 'Create', resourceBody };
  const { id } = resourceBody;
  return { operationType: 'Replace', id, ifMatch: operation.version, resourceBody };
}

/** Status codes beside `refusedBecause` (https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb). */
const cosmosStatus = {
  unauthorized: 401,
  forbidden: 403,
  requestTimeout: 408,
  tooManyRequests: 429,
  retryWith: 449,
} as const;

/** Runs a request. An error of the SDK that means "retry later" becomes a `StoreAway`, with the error as its cause. */
export async function fromCosmos<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw inOurTerms(error);
  }
}

function inOurTerms(error: unknown): unknown {
  const reason = whyAway(error);
  return reason === undefined ? error : new StoreAway(reason, error);
}

/** The status code of an error that the Cosmos SDK threw; undefined if the service gave none. */
export function statusOf(error: unknown): number | undefined {
  const code = codeOf(error);
  return typeof code === 'number' ? code : undefined;
}

/** True if a request with this status may work later, and may even have been applied. */
function isUncertainStatus(status: number): boolean {
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

/** A gateway's answer, a page or nothing: the SDK (4.x, RequestHandler.js) throws a `SyntaxError`, or its own `TypeError`. */
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

/** The answer to a write; undefined if it is refused with one of these statuses. @throws {StoreAway} */
async function unlessStatus<T>(statuses: readonly number[], write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await fromCosmos(write);
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined || !statuses.includes(status)) throw error;
    return undefined;
  }
}

/** The answer to a write on a condition; undefined if that does not hold. @throws {StoreAway} */
export function unlessChanged<T>(write: () => Promise<T>): Promise<T | undefined> {
  return unlessStatus([refusedBecause.changed], write);
}

/** The answer to a write on a condition; undefined if that does not hold, or there is no such document. @throws {StoreAway} */
export function unlessRefused<T>(write: () => Promise<T>): Promise<T | undefined> {
  return unlessStatus([refusedBecause.changed, refusedBecause.missing], write);
}

/** Creates a document; false if there is one with its id. @throws {StoreAway} */
export async function createUnlessThere(container: Container, document: { id: string }): Promise<boolean> {
  const created = await unlessStatus([refusedBecause.taken], () => container.items.create(document));
  return created !== undefined;
}

/** The body of a patch request: at most ten operations (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
export function patchBody({ where = [], set = {}, remove = [], increment = {}, append }: Patch): {
  condition?: string;
  operations: PatchOperation[];
} {
  const operations: PatchOperation[] = [
    ...Object.entries(set).map(([path, value]) => ({ op: 'set' as const, path: pathOf(path), value })),
    ...remove.map((path) => ({ op: 'remove' as const, path: pathOf(path) })),
    ...Object.entries(increment).map(([path, value]) => ({ op: 'incr' as const, path: pathOf(path), value })),
  ];
  if (append !== undefined)
    operations.push({ op: 'add', path: `${pathOf(append.path)}/-`, value: append.value });
  if (where.length === 0) return { operations };
  // Conditions take no parameters, so values are written as JSON literals, which end no string early.
  const terms = where.map(({ path, is, value }) => `c.${path} ${is} ${JSON.stringify(value)}`);
  return { operations, condition: `from c where ${terms.join(' and ')}` };
}

function pathOf(path: string): string {
  return `/${path.replaceAll('.', '/')}`;
}

/** Reads one document; undefined if there is or can be none with this id, which may come from outside. @throws {StoreAway} */
export async function readDocument(container: Container, partition: string, id: string): Promise<unknown> {
  if (!canBeId(id)) return undefined;
  const { statusCode, resource } = await fromCosmos(() => container.item(id, partition).read());
  return statusCode === refusedBecause.missing ? undefined : resource;
}

/** Everything that a query finds, over all partitions or in one. @throws {StoreAway} */
export async function queryAll(
  container: Container,
  query: string | SqlQuerySpec,
  partition?: string,
): Promise<unknown[]> {
  const options = partition === undefined ? {} : { partitionKey: partition };
  const { resources } = await fromCosmos(() => container.items.query<unknown>(query, options).fetchAll());
  return resources;
}

/** The answer to `SELECT VALUE COUNT(1) …`. @throws {StoreAway} */
export async function queryCount(container: Container, query: string | SqlQuerySpec): Promise<number> {
  return z.tuple([z.number()]).parse(await queryAll(container, query))[0];
}
