/** Checks at every write of an outbox message (packages/jobs/src/outbox/outboxMessage.ts has its states). */
import type { OutboxEntry, OutboxStatus } from '../../../packages/jobs/src/outbox/outboxMessage.ts';
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import type { Report } from './violation.ts';

const next: Readonly<Record<OutboxStatus, readonly OutboxStatus[]>> = {
  pending: ['pending', 'dispatched', 'parked'],
  parked: ['pending', 'dispatched'],
  dispatched: [],
};

export function checkMessageStep(
  document: StoredDocument,
  earlier: StoredDocument | undefined,
  report: Report,
): void {
  const after = asMessage(document);
  if (after === undefined) return;
  const { id, status, nextAttemptAt, attempts } = after;
  if ((status === 'pending') !== (nextAttemptAt !== undefined))
    report('has a time', `message ${id} is ${status}, and nextAttemptAt is ${nextAttemptAt}`);
  const before = asMessage(earlier);
  if (before === undefined) return;
  if (!next[before.status].includes(status))
    report('legal change', `message ${id}: ${before.status} → ${status}`);
  // A result that comes late says less than what others have found out since.
  if (before.status === 'pending' && status === 'pending' && attempts <= before.attempts)
    report('legal change', `message ${id}: attempt ${before.attempts} → ${attempts}`);
}

function asMessage(document: StoredDocument | undefined): OutboxEntry | undefined {
  return document?.type === 'outboxMessage' ? (document as StoredDocument & OutboxEntry) : undefined;
}
