/** A customer, in the shape of Stripe's API (https://docs.stripe.com/api/customers/object). */
export interface Customer {
  id: string;
  object: 'customer';
  created: number;
  description: string | null;
  email: string | null;
  invoice_settings: { default_payment_method: string | null };
  livemode: false;
  metadata: Record<string, string>;
  name: string | null;
}
