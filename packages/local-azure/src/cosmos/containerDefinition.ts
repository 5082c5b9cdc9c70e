import { z } from 'zod';
import { badRequest, CosmosError, notCovered } from './errors.ts';
import { requireIndexingPolicy } from './indexingPolicy.ts';
import { type JsonObject, parseObject } from './json.ts';
import { type PartitionKeyRule, parsePath } from './partitionKey.ts';
import { isTtl } from './ttl.ts';
import { requireResourceId } from './validation.ts';

const partitionKey = z.object({
  paths: z.array(z.string()).min(1).max(3),
  kind: z.enum(['Hash', 'MultiHash']).default('Hash'),
  version: z.union([z.literal(1), z.literal(2)]).default(2),
});

const uniqueKeys = z.object({
  uniqueKeys: z.array(z.object({ paths: z.array(z.string()).min(1).max(16) })).max(10),
});

const kept = z.record(z.string(), z.unknown());

const schema = z.object({
  id: z.string(),
  partitionKey,
  indexingPolicy: kept.optional(),
  uniqueKeyPolicy: uniqueKeys.default({ uniqueKeys: [] }),
  defaultTtl: z.custom<number>(isTtl).optional(),
  conflictResolutionPolicy: z
    .object({
      mode: z.string(),
      conflictResolutionPath: z.string().default('/_ts'),
      conflictResolutionProcedure: z.string().default(''),
    })
    .optional(),
  geospatialConfig: kept.optional(),
});

/** A container's definition with the service's defaults filled in. */
export type ContainerDefinition = z.infer<typeof schema>;

/** Members that the service adds to a definition it returns. A replacement sends them back. */
const systemMembers = /^_|^(?:statistics)$/;

/**
 * Reads the body of a create or replace.
 *
 * @throws {CosmosError} 400 for an invalid definition, 501 naming a policy that is not covered
 */
export function parseDefinition(body: string): ContainerDefinition {
  const definition = definedMembers(parseObject(body));
  for (const name of Object.keys(definition)) {
    if (!(name in schema.shape)) throw notCovered(`the container property '${name}'`);
  }
  const parsed = schema.safeParse(definition);
  if (!parsed.success) {
    throw new CosmosError(
      400,
      `Message: ${JSON.stringify({ Errors: parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) })}`,
      { cause: parsed.error },
    );
  }
  const { data } = parsed;
  requireResourceId(data.id);
  requirePaths(data);
  const indexingPolicy = completeIndexingPolicy(data.indexingPolicy);
  requireIndexingPolicy(indexingPolicy);
  return { ...data, indexingPolicy };
}

function definedMembers(body: JsonObject): JsonObject {
  const entries = Object.entries(body).filter(([name, value]) => !systemMembers.test(name) && value !== null);
  return Object.fromEntries(entries);
}

function requirePaths({
  partitionKey: key,
  uniqueKeyPolicy,
  conflictResolutionPolicy,
}: ContainerDefinition): void {
  for (const path of key.paths) requireKeyPath(path);
  for (const path of [...key.paths, ...uniqueKeyPolicy.uniqueKeys.flatMap(({ paths }) => paths)])
    parsePath(path);
  if (key.kind === 'Hash' && key.paths.length > 1)
    throw badRequest("A partition key of kind 'Hash' has exactly one path; several need 'MultiHash'.");
  if (key.kind === 'MultiHash' && key.version !== 2)
    throw badRequest("A partition key of kind 'MultiHash' needs version 2.");
  if (conflictResolutionPolicy !== undefined && conflictResolutionPolicy.mode !== 'LastWriterWins')
    throw notCovered('custom conflict resolution');
}

/** A part of a partition key path with other characters has to be quoted. */
function requireKeyPath(path: string): void {
  const plain = path.replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '');
  const at = plain.search(/^[^/]|[\s*?[\]]/);
  if (at < 0) return;
  throw badRequest(
    `The partition key component definition path '${path}' could not be accepted, failed near position '${at}'. ` +
      'Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character.',
  );
}

/** Fills in the service's defaults: index everything unless the policy says otherwise, but never the ETag. */
function completeIndexingPolicy(policy: Record<string, unknown> | undefined): Record<string, unknown> {
  const excluded = Array.isArray(policy?.excludedPaths) ? (policy.excludedPaths as { path?: unknown }[]) : [];
  const excludesAll = excluded.some(({ path }) => path === '/*' || path === '/');
  const etagPath = '/"_etag"/?';
  return {
    indexingMode: 'consistent',
    automatic: true,
    includedPaths: excludesAll ? [] : [{ path: '/*' }],
    ...policy,
    excludedPaths: excluded.some(({ path }) => path === etagPath)
      ? excluded
      : [...excluded, { path: etagPath }],
  };
}

/** @throws {CosmosError} 400 if a replacement changes something that is fixed at creation */
export function requireReplaceable(current: ContainerDefinition, next: ContainerDefinition): void {
  if (current.id !== next.id) throw badRequest("The container's id cannot be changed.");
  if (JSON.stringify(current.partitionKey) !== JSON.stringify(next.partitionKey))
    throw badRequest('Document collection partition key cannot be changed.');
  if (JSON.stringify(current.uniqueKeyPolicy) !== JSON.stringify(next.uniqueKeyPolicy))
    throw badRequest('The unique key policy of a container cannot be changed.');
}

export function partitionKeyRule({
  partitionKey: { paths, version },
}: ContainerDefinition): PartitionKeyRule {
  return { paths: paths.map(parsePath), maxBytes: version === 2 ? 2048 : 101 };
}
