import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, headerOf } from './answer.ts';
import type { Container } from './container.ts';
import { badRequest, CosmosError, rangeGone, subStatus } from './errors.ts';
import { partitionOfHeader } from './partitionKey.ts';
import type { Range } from './ranges.ts';

/* Which part of a container a request is for, and how new a state it wants to see. */

/**
 * The partition key range that a request is for: the one it names, or that of its partition key. Undefined if it is for all of
 * several.
 *
 * @throws {CosmosError} 410 for a range that does not exist, or does not hold the partition key
 */
export function rangeOfRequest(headers: IncomingHttpHeaders, container: Container): Range | undefined {
  const { ranges } = container;
  const id = headerOf(headers, 'x-ms-documentdb-partitionkeyrangeid');
  const partition = partitionOf(headers, container);
  const named = id === undefined ? undefined : ranges.byId(id);
  const holder = partition === undefined ? undefined : ranges.of(partition);
  if (named !== undefined && holder !== undefined && named !== holder) throw rangeGone();
  return named ?? holder ?? (ranges.all.length === 1 ? ranges.all[0] : undefined);
}

/**
 * Index of the range that a statement is limited to. Undefined: no limit, as always in a container of a
 * single range.
 */
export function scopeOf({ ranges }: Container, range: Range | undefined): number | undefined {
  return ranges.all.length === 1 ? undefined : range?.index;
}

/**
 * @throws {CosmosError} 404 with sub-status 1002 if the session token is ahead of the container, as after
 *   data loss
 */
export function requireSession(headers: IncomingHttpHeaders, { lsn }: Container): void {
  const token = headerOf(headers, 'x-ms-session-token');
  if (token === undefined) return;
  const seen = [...token.matchAll(/(?:^|,)\d+:[^#,]*#(\d+)/g)].map(([, number]) => Number(number));
  if (seen.some((number) => number > lsn))
    throw new CosmosError(404, 'The read session is not available for the input session token.', {
      subStatus: subStatus.readSessionNotAvailable,
    });
}

export function partitionOf(headers: IncomingHttpHeaders, { partitionKey }: Container): string | undefined {
  const header = headerOf(headers, 'x-ms-documentdb-partitionkey');
  return header === undefined ? undefined : partitionOfHeader(header, partitionKey);
}

export function requiredPartition(headers: IncomingHttpHeaders, container: Container): string {
  const partition = partitionOf(headers, container);
  if (partition === undefined) throw badRequest('PartitionKey value must be supplied for this operation.');
  return partition;
}

/** The range that answered, and the token by which a client asks for at least what it has seen. All ranges share the container's sequence. */
export function withSession(answer: Answer, { lsn }: Container, range: Range | undefined): Answer {
  if (range === undefined) return answer;
  const headers = {
    'x-ms-session-token': `${range.index}:-1#${lsn}`,
    'x-ms-documentdb-partitionkeyrangeid': String(range.index),
  };
  return { ...answer, headers: { ...headers, ...answer.headers } };
}
