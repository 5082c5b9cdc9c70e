import { randomUUID } from 'node:crypto';
import type { Container } from '@azure/cosmos';
import type { Clock } from '../platform/clock.ts';

/** One thing that somebody did through ops. */
export interface AuditEntry {
  actor: string;
  action: string;
  /** What it was done to. */
  target: string;
  detail?: Record<string, string | number | boolean | null>;
}

/** Appends to the record of who did what. */
export type Audit = (entry: AuditEntry) => Promise<void>;

/** The audit trail in the Cosmos container `audit`: append only, partitioned by day. */
export function cosmosAudit(container: Container, clock: Clock): Audit {
  return async (entry) => {
    const at = new Date(clock.now()).toISOString();
    await container.items.create({ id: randomUUID(), day: at.slice(0, 10), at, ...entry });
  };
}

/**
 * Who calls: the signed-in user where the platform authenticates
 * (https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities), else whoever has the key.
 */
export function actorOf(headers: { get(name: string): string | null }): string {
  return headers.get('x-ms-client-principal-name') ?? 'function key';
}
