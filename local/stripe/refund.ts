/** A refund, in the shape of Stripe's API (https://docs.stripe.com/api/refunds/object). */
export interface Refund {
  id: string;
  object: 'refund';
  amount: number;
  charge: string;
  created: number;
  currency: string;
  failure_reason?: string;
  metadata: Record<string, string>;
  payment_intent: string;
  pending_reason?: 'processing';
  reason: string | null;
  status: 'pending' | 'succeeded' | 'failed';
}
