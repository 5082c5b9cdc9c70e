import type { DatabaseSync } from 'node:sqlite';
import type { Catalog } from './catalog.ts';
import type { Container } from './container.ts';
import { badRequest } from './errors.ts';
import { parseObject } from './json.ts';
import { parseQuery, type Query, queryToJson, sourceOf } from './queries.ts';

/** Most items that one look shows. */
const mostItems = 100;

export type Browse = ReturnType<typeof createBrowse>;

/** Contents of the account, for people who look at it. A request needs no key and no ranges. */
export function createBrowse(db: DatabaseSync, catalog: Catalog, now: () => number) {
  const run = (container: Container, query: Query): unknown[] =>
    queryToJson(db, sourceOf(container, Math.floor(now() / 1000)), query, {
      maxItems: mostItems,
      continuation: undefined,
    }).json.map((text): unknown => JSON.parse(text));

  return {
    databases: () =>
      [...catalog.databases()].map(({ id, containers }) => ({
        id,
        containers: [...containers.values()].map((container) => ({
          id: container.id,
          partitionKey: container.partitionKey.paths.map((path) => `/${path.join('/')}`),
          items: run(container, { query: 'SELECT VALUE COUNT(1) FROM c', parameters: [] })[0],
        })),
      })),
    /** The first results of a query over all partitions. @throws {CosmosError} */
    query(body: string): { items: unknown[] } {
      const { database, container } = parseObject(body);
      if (typeof database !== 'string' || typeof container !== 'string')
        throw badRequest('Expected database, container and query.');
      return { items: run(catalog.owner(database, container), parseQuery(body)) };
    },
  };
}
