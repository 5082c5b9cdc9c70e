import { children, type Form, integer } from './form.ts';
import { invalid } from './refusal.ts';

/**
 * Reads the maximum number of objects on a page: https://docs.stripe.com/api/pagination. @throws {Refusal}
 */
export function pageSize(form: Form): number {
  const limit = integer('limit', form.get('limit') ?? '10');
  if (limit < 1 || limit > 100) throw invalid('limit', 'limit must be between 1 and 100.');
  return limit;
}

/** The objects that were created since `created[gte]`, if that is given. @throws {Refusal} */
export function createdSince<T extends { created: number }>(form: Form, all: readonly T[]): T[] {
  const since = integer('created[gte]', children(form, 'created').gte ?? '0');
  return all.filter(({ created }) => created >= since);
}

export interface Page {
  object: 'list';
  url: string;
  has_more: boolean;
  data: object[];
}

/**
 * The page of `all` (newest first) that follows `starting_after`.
 *
 * @throws {Refusal} if that object is not in the list
 */
export function pageOf(form: Form, url: string, all: readonly { id: string }[]): Page {
  const limit = pageSize(form);
  const after = form.get('starting_after');
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) {
    throw invalid('starting_after', `No such object: '${after}'`, 'resource_missing');
  }
  return {
    object: 'list',
    url,
    has_more: all.length > start + limit,
    data: all.slice(start, start + limit),
  };
}
