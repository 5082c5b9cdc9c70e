import type { Patch } from '../../documents/documentStore.ts';
import type { Tally } from '../../locking/fence.ts';
import type { OutboxMessage } from '../../outbox/outboxMessage.ts';

/** The content of one transaction: changes of invoices, and the outbox messages that announce them. */
export interface Writes {
  readonly patches: readonly Patch[];
  readonly messages: readonly OutboxMessage[];
  /** Of a claim: what the run has then done in the shard, if that is counted. */
  readonly tally?: Tally;
}
