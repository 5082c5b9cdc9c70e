import type { Container } from '@azure/cosmos';
import { isUncertain } from '../documents/cosmosErrors.ts';
import type { Invoice } from './invoice.ts';
import { readInvoices } from './readInvoices.ts';

/**
 * Reads invoices after a write whose outcome is to be found out. Undefined where the store gives no clear answer to that
 * either: it is mostly the same moment of weakness, and the caller waits and tries again.
 */
export async function rereadInvoices(
  container: Container,
  shard: string,
  ids: readonly string[],
): Promise<Invoice[] | undefined> {
  try {
    return await readInvoices(container, shard, ids);
  } catch (error) {
    if (isUncertain(error)) return undefined;
    throw error;
  }
}
