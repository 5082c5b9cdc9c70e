import type { Container, OperationInput, PatchOperation } from '@azure/cosmos';
import { cosmosStatus, fromCosmos, isUncertainStatus } from './cosmosErrors.ts';
import type { Condition, DocumentStore, Operation, Patch, Transacted } from './documentStore.ts';
import { StoreAway } from './storeAway.ts';

/** Bytes of UTF-8 in an id (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits). */
const longestId = 1023;

/** The documents of one Cosmos container. */
export function cosmosDocuments(container: Container): DocumentStore {
  return {
    transact: (partition, operations) => transact(container, partition, operations),
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
 * Reads one document; undefined if there is none. That includes ids that no document can have, for which the SDK throws
 * or the service answers 400: callers pass ids from outside. @throws {StoreAway}
 */
export async function readDocument(container: Container, partition: string, id: string): Promise<unknown> {
  if (!canBeId(id)) return undefined;
  const { statusCode, resource } = await fromCosmos(() => container.item(id, partition).read());
  return statusCode === cosmosStatus.notFound ? undefined : resource;
}

/** The only caller of `items.batch`, which resolves even if the batch fails: every result code is checked here. */
async function transact(
  container: Container,
  partition: string,
  operations: readonly Operation[],
): Promise<Transacted> {
  try {
    const { result } = await fromCosmos(() =>
      container.items.batch(operations.map(inputOf), partition, { contentResponseOnWriteEnabled: false }),
    );
    const codes = (result ?? []).map(({ statusCode }) => statusCode);
    if (codes.length === operations.length && codes.every((code) => code < 300)) return { kind: 'committed' };
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
  if (operation.kind === 'create') {
    return { operationType: 'Create', resourceBody: { ...operation.document } };
  }
  const { id, version } = operation;
  return {
    operationType: 'Patch',
    id,
    ...(version === undefined ? {} : { ifMatch: version }),
    resourceBody: patchBody(operation),
  };
}

/** The body of a patch request: what to change, and on what condition. */
export function patchBody(patch: Patch): { condition?: string; operations: PatchOperation[] } {
  const { where = [] } = patch;
  return {
    ...(where.length === 0 ? {} : { condition: conditionOf(where) }),
    operations: patchOperations(patch),
  };
}

/** At most ten of them (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
function patchOperations({ set = {}, remove = [], append }: Patch): PatchOperation[] {
  return [
    ...Object.entries(set).map(([path, value]) => ({ op: 'set' as const, path: pathOf(path), value })),
    ...remove.map((path) => ({ op: 'remove' as const, path: pathOf(path) })),
    ...(append === undefined
      ? []
      : [{ op: 'add' as const, path: `${pathOf(append.path)}/-`, value: append.value }]),
  ];
}

/** Conditions take no parameters, so values are written as JSON literals, which end no string early. */
export function conditionOf(where: readonly Condition[]): string {
  const terms = where.map(({ path, is, value }) => `c.${path} ${is} ${JSON.stringify(value)}`);
  return `from c where ${terms.join(' and ')}`;
}

function pathOf(path: string): string {
  return `/${path.replaceAll('.', '/')}`;
}

function canBeId(id: string): boolean {
  return (
    /^[^/\\?#]+$/.test(id) && !id.endsWith(' ') && id.isWellFormed() && Buffer.byteLength(id) <= longestId
  );
}
