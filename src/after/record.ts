/**
 * The one way in which anything is recorded on an invoice after its charge, or beside it: a pure decision on the invoice as it is
 * stored says what changes, and that is written in one transaction with the messages that follow.
 */

import type { Instance } from '@payonce/jobs/instance';
import { newOutboxMessage } from '@payonce/jobs/outbox';
import type { WorkItem } from '@payonce/jobs/work-items';
import { type FollowUps, type InvoiceEnd, looksInto } from '../invoice/followUps.ts';
import type { Invoice, StoredEntry } from '../invoice/invoice.ts';
import type { InvoiceChange } from '../invoice/invoiceChange.ts';
import type { InvoiceStore, Updated } from '../invoice/store/invoiceStore.ts';
import type { SettlementPolicy } from '../paying/payingPolicy.ts';
import { noTurn, type PacedProvider, type NotCalled } from '../paying/paymentProvider.ts';
import { metric } from '../platform/appMetrics.ts';
import { queues } from '../platform/azureNames.ts';

export interface AfterParts {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  provider: Pick<PacedProvider, 'within'>;
  followUps: FollowUps;
  settlement: Pick<SettlementPolicy, 'softDeclineRetryMs'>;
  instance: Pick<Instance, 'clock' | 'name' | 'telemetry'>;
}

export type RecordParts = Pick<AfterParts, 'followUps' | 'instance'> & {
  invoices: Pick<InvoiceStore, 'update'>;
};

export interface Recorded {
  kind: 'change';
  change: Omit<InvoiceChange, 'entry'>;
  /** Its `at` is the time of the write, its `by` this instance if it names nobody. */
  entry: { what: string } & Record<string, StoredEntry[string]>;
  ends?: readonly InvoiceEnd[];
  /** Refunds to be ordered. */
  orders?: readonly string[];
  /** Other payments to be looked into, now that the invoice is paid by one. */
  others?: readonly string[];
}

export const refundStageName = 'refund';

/**
 * Decides on an invoice as it is stored, at `now` (milliseconds), and records the decision. Any decision but a change is returned,
 * and writes nothing.
 *
 * @throws {NoClearAnswer} {NewerVersion} and what `assertHeld` throws
 */
export async function record<Other extends { kind: string }>(
  { invoices, followUps, instance: { clock, name: by, telemetry } }: RecordParts,
  id: string,
  decide: (invoice: Invoice, now: number) => Recorded | Other,
  assertHeld: () => void = () => {},
): Promise<Exclude<Updated<Other>, { kind: 'refused' }> | Other> {
  let ends: readonly InvoiceEnd[] = [];
  const updated = await invoices.update<Other>(id, {
    decide(invoice, write) {
      const now = clock.now();
      const decision = decide(invoice, now);
      if (!isChange(decision)) return { kind: 'refuse', why: decision };
      const { change, entry, orders = [], others = [] } = decision;
      ({ ends = [] } = decision);
      const ended = { ...invoice, invoiceId: id, keyNumber: invoice.payment.keyNumber };
      return {
        kind: 'change',
        change: { ...change, entry: { at: new Date(now).toISOString(), by, ...entry } },
        messages: [
          ...followUps(
            ends.map((end) => ({ invoice: ended, end })),
            { shard: invoice.shard, occasion: write, now },
          ),
          ...orderOf(invoice, orders, write, now),
          ...looksInto(invoice, others, { write, now }),
        ],
      };
    },
    beforeTry: assertHeld,
  });
  if (updated.kind === 'refused') return updated.why;
  if (updated.kind === 'notFound') return updated;
  for (const { kind } of ends) {
    if (kind === 'disputed' || kind === 'disputeLost') telemetry.count(metric.invoiceDisputed, { kind });
    if (kind === 'refundFailed') telemetry.count(metric.refundFailed);
    if (kind === 'parked') telemetry.count(metric.invoiceParked, { unknown: false });
  }
  return updated;
}

function isChange(decision: { kind: string }): decision is Recorded {
  return decision.kind === 'change';
}

/** The message that orders refunds. `write` makes each order a work item of its own: the effect of an earlier proves no refund. */
function orderOf(invoice: Invoice, refundIds: readonly string[], write: string, now: number) {
  if (refundIds.length === 0) return [];
  const body = refundIds.map((refundId): WorkItem => ({
    resourceId: invoice.id,
    stage: refundStageName,
    occasion: `${refundId}-${write}`,
    input: { refundId },
  }));
  const { shard } = invoice;
  return [newOutboxMessage({ id: `${write}-refund`, shard, destination: queues.workItems, body }, now)];
}

export function whySilent(
  away: NotCalled | { kind: 'blocked' | 'transient' | 'unknown'; message: string },
): string {
  return away.kind === 'notCalled' ? noTurn : away.message;
}

/** `assertHeld` as an answer, for calls that wait for their turn. */
export function isHeld(assertHeld: () => void): () => boolean {
  return () => {
    try {
      assertHeld();
      return true;
    } catch {
      return false;
    }
  };
}
