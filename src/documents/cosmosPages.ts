import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { cosmosStatus, fromCosmos, statusOf } from './cosmosDocuments.ts';
import { BadContinuation, fromOpaque, type Page, toOpaque } from './pages.ts';

/**
 * One page of a query whose continuation the service knows: a query within a partition, or one over all of them without an
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
    ...(continuation === undefined ? {} : { continuationToken: fromOpaque(continuation) }),
  });
  try {
    const { resources, continuationToken } = await fromCosmos(() => pages.fetchNext());
    return {
      items: resources ?? [],
      ...(continuationToken ? { continuation: toOpaque(continuationToken) } : {}),
    };
  } catch (error) {
    if (continuation === undefined || statusOf(error) !== cosmosStatus.badRequest) throw error;
    throw new BadContinuation('the service refuses it', { cause: error });
  }
}
