import { badRequest, CosmosError, notCovered } from './errors.ts';
import { isObject, parseObject } from './json.ts';
import { BadQuery, UnsupportedQuery } from './query/errors.ts';
import { queryPlan, runQueryToJson } from './query/index.ts';

export interface Query {
  query: string;
  parameters: { name: string; value: unknown }[];
}

/** Parses a query body. @throws {CosmosError} 400 */
export function parseQuery(text: string): Query {
  const { query, parameters } = parseObject(text);
  if (typeof query !== 'string') throw badRequest('The query request has no query text.');
  if (parameters === undefined || parameters === null) return { query, parameters: [] };
  if (!Array.isArray(parameters)) throw badRequest('The parameters of a query must be an array.');
  return {
    query,
    parameters: parameters.map((parameter) => {
      if (!isObject(parameter) || typeof parameter.name !== 'string' || !parameter.name.startsWith('@'))
        throw badRequest('A query parameter must have a name that begins with @.');
      return { name: parameter.name, value: parameter.value };
    }),
  };
}

/** The query engine with the service's errors: 400 for an invalid query, 501 for an unsupported feature. */
export const queryToJson: typeof runQueryToJson = (...args) => translated(() => runQueryToJson(...args));
export const plan: typeof queryPlan = (...args) => translated(() => queryPlan(...args));

function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof BadQuery) throw new CosmosError(400, `Message: ${cause.message}`, { cause });
    if (cause instanceof UnsupportedQuery) throw notCovered(`${cause.feature} in queries`);
    throw cause;
  }
}
