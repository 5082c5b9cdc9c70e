import { z } from 'zod';
import { tolerantObject } from '../documents/storedDocuments.ts';

/**
 * A refund of the payment, whoever asked for it:
 *
 *   requested ──the provider takes it──► pending ──► succeeded
 *       │                                   └──► failed | canceled
 *       └──it refuses──► failed
 *
 * Refunds of ours begin as `requested` (refunds/). The provider's states are recorded as it reports them (tracking/).
 */
export const refundStatuses = ['requested', 'pending', 'succeeded', 'failed', 'canceled'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

const refundSchema = tolerantObject({
  /** Ours if it was asked for through ops, otherwise the provider's. */
  id: z.string(),
  /** Absent until the provider has taken it. */
  providerId: z.string().exactOptional(),
  amountMinor: z.number().int(),
  status: z.enum(refundStatuses),
  /** When it was asked for: ISO 8601, UTC. */
  at: z.string(),
  /** Who asked for it through ops. */
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
});
export type Refund = z.infer<typeof refundSchema>;

/** `open` until the bank decides; `lost`: the money is gone. */
export const disputeStatuses = ['open', 'won', 'lost'] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

const disputeSchema = tolerantObject({
  /** The provider's. */
  id: z.string(),
  amountMinor: z.number().int(),
  status: z.enum(disputeStatuses),
  /** When it was opened: ISO 8601, UTC. */
  at: z.string(),
  reason: z.string(),
});
export type Dispute = z.infer<typeof disputeSchema>;

export const reversalsSchema = tolerantObject({
  refunds: z.array(refundSchema),
  disputes: z.array(disputeSchema),
  /** Sum of the refunds that are requested, pending or succeeded, in minor units. */
  refundedMinor: z.number().int(),
  /** Sum of the disputes that are open or lost, in minor units. */
  disputedMinor: z.number().int(),
  /** The latest `at` of all of them. */
  latestAt: z.string(),
});
export type Reversals = z.infer<typeof reversalsSchema>;

/** What the provider knows of a payment's refunds and disputes. Times are ISO 8601, UTC. */
export interface ProviderReversals {
  refunds: readonly {
    providerId: string;
    /** Our own id, if it was asked for through ops. */
    refundId?: string;
    amountMinor: number;
    status: Exclude<RefundStatus, 'requested'>;
    at: string;
    reason?: string;
  }[];
  disputes: readonly { id: string; amountMinor: number; status: DisputeStatus; at: string; reason: string }[];
}

export const noReversals: ProviderReversals = { refunds: [], disputes: [] };

/**
 * The reversals once the provider's view is added to what is recorded. Its word counts; what only we know stays, such as a
 * refund that it has not taken yet. Undefined if there are none. Pure.
 */
export function withProviderReversals(
  recorded: Reversals | undefined,
  provider: ProviderReversals,
): Reversals | undefined {
  const refunds = [...(recorded?.refunds ?? [])];
  for (const { providerId, refundId, ...seen } of provider.refunds) {
    const place = refunds.findIndex(
      (refund) => refund.providerId === providerId || (refundId !== undefined && refund.id === refundId),
    );
    const before = refunds[place];
    if (before === undefined) refunds.push({ id: refundId ?? providerId, providerId, ...seen });
    // The reason and the time of one of ours are those of its request.
    else refunds[place] = { ...before, providerId, amountMinor: seen.amountMinor, status: seen.status };
  }
  const disputes = [...(recorded?.disputes ?? [])];
  for (const seen of provider.disputes) {
    const place = disputes.findIndex(({ id }) => id === seen.id);
    if (place === -1) disputes.push({ ...seen });
    else disputes[place] = { ...disputes[place], ...seen };
  }
  return refunds.length + disputes.length === 0 ? undefined : reversalsOf(refunds, disputes, recorded);
}

/** These refunds and disputes with their sums. Pure. */
export function reversalsOf(
  refunds: readonly Refund[],
  disputes: readonly Dispute[],
  recorded?: Reversals,
): Reversals {
  const refunded = refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
  const disputed = disputes.filter(({ status }) => status !== 'won');
  return {
    ...recorded,
    refunds: [...refunds],
    disputes: [...disputes],
    refundedMinor: sum(refunded),
    disputedMinor: sum(disputed),
    latestAt:
      [...refunds, ...disputes]
        .map(({ at }) => at)
        .toSorted()
        .at(-1) ?? '',
  };
}

function sum(parts: readonly { amountMinor: number }[]): number {
  return parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
}
