/**
 * The states here (https://docs.stripe.com/disputes/how-disputes-work). An inquiry takes no money until it
 * escalates:
 *
 *     warning_needs_response ─► warning_under_review ─► warning_closed
 *       └─ escalates ─► needs_response ─► under_review ─► won | lost
 */
export const disputeStatuses = [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'needs_response',
  'under_review',
  'won',
  'lost',
] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

/** A dispute, in the shape of Stripe's API (https://docs.stripe.com/api/disputes/object). */
export interface Dispute {
  id: string;
  object: 'dispute';
  amount: number;
  charge: string;
  created: number;
  currency: string;
  /** Evidence is taken for some days (https://docs.stripe.com/disputes/responding). */
  evidence_details: { due_by: number };
  /** An inquiry can still be refunded, a chargeback cannot. */
  is_charge_refundable: boolean;
  livemode: false;
  metadata: Record<string, string>;
  payment_intent: string;
  reason: string;
  status: DisputeStatus;
}
