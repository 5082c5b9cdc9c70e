import type { Container, SqlParameter } from '@azure/cosmos';
import { z } from 'zod';
import { BadContinuation, fromOpaque, type Page, toOpaque } from '../documents/pages.ts';
import { readable } from '../documents/readable.ts';
import { type OutboxMessage, outboxMessageSchema } from './outboxMessage.ts';

/** A message without what it carries. */
export const outboxEntrySchema = outboxMessageSchema.omit({ body: true, ttl: true });
export type OutboxEntry = z.infer<typeof outboxEntrySchema>;

/** The properties of an entry, for a query: bodies are large, and nobody looks at them in a list. */
export const entryProperties = Object.keys(outboxEntrySchema.shape)
  .map((name) => `c.${name}`)
  .join(', ');

/** Where a page ended: the time of its last message, and how many messages of that time have been shown. */
const placeSchema = z.tuple([z.iso.datetime(), z.int().min(1)]);

/**
 * One page of the outbox messages of all shards. Those that wait (pending, parked) come with the longest waiting first;
 * the dispatched, and all together, with the newest first.
 *
 * The continuation is a place in the order of creation: a token of the service for an order over several partitions is
 * none that another request can go on with. Messages of the same millisecond have no order among themselves, so what is
 * moved between two pages may hide one of them. One that cannot be read is left out: the sweeper reports it.
 * @throws {BadContinuation}
 */
export async function listOutbox(
  container: Container,
  {
    status,
    continuation,
    pageSize,
  }: { status?: OutboxMessage['status']; continuation?: string; pageSize: number },
): Promise<Page<OutboxEntry>> {
  const oldestFirst = status === 'pending' || status === 'parked';
  const place = continuation === undefined ? undefined : placeOf(continuation);
  const [at, shown] = place ?? [undefined, 0];
  const conditions = [
    `c.type = 'outboxMessage'`,
    ...(status === undefined ? [] : ['c.status = @status']),
    ...(at === undefined ? [] : [`c.createdAt ${oldestFirst ? '>=' : '<='} @at`]),
  ];
  const parameters: SqlParameter[] = [
    ...(status === undefined ? [] : [{ name: '@status', value: status }]),
    ...(at === undefined ? [] : [{ name: '@at', value: at }]),
    { name: '@shown', value: shown },
    { name: '@limit', value: pageSize + 1 },
  ];
  const query = `SELECT ${entryProperties} FROM c WHERE ${conditions.join(' AND ')}
    ORDER BY c.createdAt ${oldestFirst ? 'ASC' : 'DESC'} OFFSET @shown LIMIT @limit`;
  const { resources } = await container.items
    .query<{ createdAt?: unknown }>({ query, parameters })
    .fetchAll();
  const found = resources.slice(0, pageSize);
  const items = readable(found, outboxEntrySchema, 'outboxMessage');
  const last = found.at(-1)?.createdAt;
  if (resources.length <= pageSize || typeof last !== 'string') return { items };
  const ofLast = found.filter(({ createdAt }) => createdAt === last).length + (last === at ? shown : 0);
  return { items, continuation: toOpaque(JSON.stringify([last, ofLast])) };
}

function placeOf(continuation: string): z.infer<typeof placeSchema> {
  try {
    return placeSchema.parse(JSON.parse(fromOpaque(continuation)));
  } catch (cause) {
    throw new BadContinuation('no place in the outbox', { cause });
  }
}
