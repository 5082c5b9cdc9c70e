import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import { z } from 'zod';
import { type Page, queryPage } from '../documents/pages.ts';
import type { Clock } from '../platform/clock.ts';

const entrySchema = z.object({
  actor: z.string(),
  action: z.string(),
  /** What it was done to. */
  target: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).exactOptional(),
});

/** One thing that somebody did through ops. */
export type AuditEntry = z.infer<typeof entrySchema>;

const recordSchema = entrySchema.extend({ id: z.string(), at: z.string() });

/** The same as it was recorded; `at` is ISO 8601. */
export type AuditRecord = z.infer<typeof recordSchema>;

/** Appends to the record of who did what. It is called when the thing has been done, and says how it came out. */
export type Audit = (entry: AuditEntry) => Promise<void>;

/** Reads a day (`YYYY-MM-DD`, UTC) of that record, newest first. @throws {BadContinuation} */
export type ReadAudit = (query: {
  day: string;
  continuation?: string;
  pageSize: number;
}) => Promise<Page<AuditRecord>>;

/** The audit trail in the Cosmos container `audit`: append only, partitioned by day. */
export function cosmosAudit(container: Container, clock: Clock): Audit {
  return async (entry) => {
    const at = new Date(clock.now()).toISOString();
    await container.items.create({ id: randomUUID(), day: at.slice(0, 10), at, ...entry });
  };
}

/** The same trail, for whoever reads it. */
export function cosmosAuditReader(container: Container): ReadAudit {
  return async ({ day, ...page }) => {
    const query = { query: 'SELECT * FROM c ORDER BY c.at DESC' };
    const { items, ...rest } = await queryPage(container, query, { ...page, partitionKey: day });
    return { items: items.map((item) => recordSchema.parse(item)), ...rest };
  };
}

const longestActor = 256;

/**
 * Who calls: the signed-in user where the platform authenticates
 * (https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities), else whoever has the key.
 */
export function actorOf(headers: { get(name: string): string | null }): string {
  return headers.get('x-ms-client-principal-name')?.slice(0, longestActor) ?? 'function key';
}
