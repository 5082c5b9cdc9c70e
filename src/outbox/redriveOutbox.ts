import type { Container, PatchOperation } from '@azure/cosmos';
import { cosmosStatus, statusOf } from '../documents/cosmosErrors.ts';
import type { Clock } from '../platform/clock.ts';
import { entryProperties, type OutboxEntry, outboxEntrySchema } from './listOutbox.ts';

export type RedrivenMessage =
  | { kind: 'redriven'; message: OutboxEntry }
  | { kind: 'notFound' }
  | { kind: 'refused'; status: OutboxEntry['status'] };

/**
 * Puts a parked message back to pending, as if it had been written now; the sweeper dispatches it. The send changes
 * nothing that has been settled since: whoever receives it looks at the claims and effects as they are then.
 */
export async function redriveOutboxMessage(
  { container, clock }: { container: Container; clock: Clock },
  id: string,
): Promise<RedrivenMessage> {
  const message = await find(container, id);
  if (message === undefined) return { kind: 'notFound' };
  if (message.status !== 'parked') return { kind: 'refused', status: message.status };
  const at = new Date(clock.now()).toISOString();
  const operations: PatchOperation[] = [
    { op: 'set', path: '/status', value: 'pending' },
    { op: 'set', path: '/attempts', value: 0 },
    { op: 'set', path: '/nextAttemptAt', value: at },
    // It has been waiting since now, not since it was written: nobody is to be alarmed by its age.
    { op: 'set', path: '/notBefore', value: at },
  ];
  try {
    const { resource } = await container
      .item(id, message.shard)
      .patch({ condition: `from c where c.status = 'parked'`, operations });
    return { kind: 'redriven', message: outboxEntrySchema.parse(resource) };
  } catch (error) {
    if (statusOf(error) !== cosmosStatus.preconditionFailed) throw error;
    const after = await find(container, id);
    return after === undefined ? { kind: 'notFound' } : { kind: 'refused', status: after.status };
  }
}

/** The shard is not known to whoever has an id from a list, so all are asked. Ids are unique over the shards. */
async function find(container: Container, id: string): Promise<OutboxEntry | undefined> {
  const { resources } = await container.items
    .query<unknown>({
      query: `SELECT ${entryProperties} FROM c WHERE c.id = @id AND c.type = 'outboxMessage'`,
      parameters: [{ name: '@id', value: id }],
    })
    .fetchAll();
  const [found] = resources;
  return found === undefined ? undefined : outboxEntrySchema.parse(found);
}
