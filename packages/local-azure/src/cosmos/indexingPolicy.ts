import { z } from 'zod';
import { CosmosError } from './errors.ts';
import { parsePath } from './partitionKey.ts';
import { BadQuery } from './query/errors.ts';

/** A property that a query sorts by: its path as names, `[]` for an array's elements. */
export interface SortedPath {
  path: readonly string[];
  descending: boolean;
}

const paths = z.array(z.looseObject({ path: z.string() })).default([]);
const policySchema = z.looseObject({
  indexingMode: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['consistent', 'lazy', 'none']))
    .default('consistent'),
  includedPaths: paths,
  excludedPaths: paths,
  compositeIndexes: z
    .array(
      z.array(
        z.looseObject({ path: z.string(), order: z.enum(['ascending', 'descending']).default('ascending') }),
      ),
    )
    .default([]),
});

/**
 * Refuses a policy at creation as the service does. A path ends in `/?` or `/*`, or is `/`, which means `/*`; one of the
 * lists has the root (https://learn.microsoft.com/azure/cosmos-db/index-policy#include-exclude-paths).
 *
 * @throws {CosmosError} 400
 */
export function requireIndexingPolicy(policy: object): void {
  const { data, error } = policySchema.safeParse(policy);
  if (data === undefined) {
    const [issue] = error.issues;
    throw invalidPolicy(`The indexing policy is invalid: ${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { indexingMode, includedPaths, excludedPaths, compositeIndexes } = data;
  const included = includedPaths.map(({ path }) => rulePath(path));
  const excluded = excludedPaths.map(({ path }) => rulePath(path));
  const all = [...included, ...excluded];
  for (const { path } of compositeIndexes.flat()) requireNames(path, path);
  if (indexingMode !== 'none' && !all.includes('/*'))
    throw invalidPolicy(
      'The special mandatory indexing path "/" is not provided in any of the path type sets. Please provide this path in one of the sets.',
    );
  const twice = included.find((path) => excluded.includes(path));
  if (twice !== undefined) throw invalidPolicy(`The indexing path '${twice}' is both included and excluded.`);
}

/** A path of either list in one form: the root is `/*`. */
function rulePath(path: string): string {
  if (path === '/') return '/*';
  if (!/\/[?*]$/.test(path)) throw notAccepted(path, path.length);
  requireNames(path, path.slice(0, -2));
  return path;
}

/** `/a/b`. A name with a slash, a quote or a wildcard in it has to be quoted. */
const namesPattern = /^(?:\/(?:"(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+'|[^/?*"']+))*/;

function requireNames(path: string, names: string): void {
  const accepted = namesPattern.exec(names)?.[0].length ?? 0;
  if (accepted < names.length) throw notAccepted(path, accepted);
}

function notAccepted(path: string, position: number): CosmosError {
  return invalidPolicy(
    `The indexing path '${path}' could not be accepted, failed near position '${position}'. Please ensure that the path is ` +
      'a valid path. Common errors include invalid characters or absence of quotes around labels.',
  );
}

function invalidPolicy(reason: string): CosmosError {
  return new CosmosError(400, `Message: ${JSON.stringify({ Errors: [reason] })}`);
}

/** Properties that the service indexes whatever the policy says, unless it indexes nothing. */
const always = new Set(['id', '_ts']);

/**
 * Refuses an ORDER BY that the container's indexes cannot serve, as the service does: one property has to be indexed,
 * several need a composite index of exactly these, in this order, with these directions or all of them reversed
 * (https://learn.microsoft.com/azure/cosmos-db/index-policy#order-by-queries-on-multiple-properties). A filter needs no
 * index there either; without one it scans.
 *
 * @throws {BadQuery} 400
 */
export function requireSortIndex(policy: object | undefined, sorted: readonly SortedPath[]): void {
  const [first, ...others] = sorted;
  if (first === undefined) return;
  const { indexingMode, includedPaths, excludedPaths, compositeIndexes } = read(policy);
  if (others.length === 0) {
    if (indexingMode !== 'none' && isIndexed(first.path, includedPaths, excludedPaths)) return;
    throw new BadQuery('The index path corresponding to the specified order-by item is excluded.');
  }
  const serves = compositeIndexes.some((index) => {
    if (index.length !== sorted.length) return false;
    const same = index.map(({ path, order }, place) => {
      const key = sorted[place];
      const matches = key !== undefined && namesOf(path).join('/') === key.path.join('/');
      return matches ? (order === 'descending') === key.descending : undefined;
    });
    return same.every((is) => is === true) || same.every((is) => is === false);
  });
  if (serves) return;
  throw new BadQuery(
    'The order by query does not have a corresponding composite index that it can be served from.',
  );
}

/** True if the container's indexes cover a property. A filter on any other property reads the items. */
export function isIndexedBy(policy: object | undefined, path: readonly string[]): boolean {
  const { indexingMode, includedPaths, excludedPaths } = read(policy);
  return indexingMode !== 'none' && isIndexed(path, includedPaths, excludedPaths);
}

const known = new WeakMap<object, z.infer<typeof policySchema>>();

/** The policy with its defaults. A container keeps one object until it is replaced. */
function read(policy: object = {}): z.infer<typeof policySchema> {
  const before = known.get(policy);
  if (before !== undefined) return before;
  const parsed = policySchema.parse(policy);
  known.set(policy, parsed);
  return parsed;
}

/** The most precise path of the policy that covers the property decides; `/?` is more precise than `/*`. */
function isIndexed(
  property: readonly string[],
  included: readonly { path: string }[],
  excluded: readonly { path: string }[],
): boolean {
  if (property.length === 1 && always.has(property[0] ?? '')) return true;
  const best = (all: readonly { path: string }[]) =>
    Math.max(-1, ...all.map(({ path }) => precision(path, property)));
  const [yes, no] = [best(included), best(excluded)];
  return yes > no;
}

/** Ranks how precisely a path of the policy covers a property; -1 if it does not cover it. */
function precision(path: string, property: readonly string[]): number {
  const names = namesOf(path.replace(/\/[?*]$/, ''));
  const exact = path.endsWith('/?');
  const covers =
    (exact ? names.length === property.length : names.length <= property.length) &&
    names.every((name, place) => name === property[place]);
  return covers ? names.length * 2 + (exact ? 1 : 0) : -1;
}

function namesOf(path: string): string[] {
  return path === '' || path === '/' ? [] : parsePath(path);
}
