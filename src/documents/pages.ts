import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { cosmosStatus, statusOf } from './cosmosErrors.ts';

/** Part of a list. */
export interface Page<T> {
  items: T[];
  /** Opaque: what the next page is asked for with. Absent on the last page. */
  continuation?: string;
}

/** The continuation is none that a page of this list gave. */
export class BadContinuation extends Error {
  override readonly name = 'BadContinuation';
}

/**
 * One page of a query whose continuation the service knows: one within a partition, or one over all of them without an
 * order. Items are as they are stored. @throws {BadContinuation}
 */
export async function queryPage(
  container: Container,
  query: SqlQuerySpec,
  {
    pageSize,
    continuation,
    partitionKey,
  }: { pageSize: number; continuation?: string; partitionKey?: string },
): Promise<Page<unknown>> {
  const pages = container.items.query<unknown>(query, {
    maxItemCount: pageSize,
    ...(partitionKey === undefined ? {} : { partitionKey }),
    ...(continuation === undefined ? {} : { continuationToken: headerText(continuation) }),
  });
  try {
    const { resources, continuationToken } = await pages.fetchNext();
    return {
      items: resources ?? [],
      ...(continuationToken ? { continuation: toOpaque(continuationToken) } : {}),
    };
  } catch (error) {
    if (continuation === undefined || statusOf(error) !== cosmosStatus.badRequest) throw error;
    throw new BadContinuation('the service refuses it', { cause: error });
  }
}

/** In a URL a token is better off without quotes and spaces. */
export function toOpaque(token: string): string {
  return Buffer.from(token).toString('base64url');
}

export function fromOpaque(continuation: string): string {
  return Buffer.from(continuation, 'base64url').toString();
}

/** A token of the service travels in a header. */
function headerText(continuation: string): string {
  const token = fromOpaque(continuation);
  if (!/^[\x20-\x7e]+$/.test(token)) throw new BadContinuation('no text for a header');
  return token;
}
