/** What Stripe's search compares: its exact match is case-insensitive (https://docs.stripe.com/search). */
export function folded(text: string): string {
  return text.toLowerCase();
}
