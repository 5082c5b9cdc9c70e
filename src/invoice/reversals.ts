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
