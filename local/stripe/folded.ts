/** The form in which search compares text: Stripe's exact match ignores case (https://docs.stripe.com/search). */
export function folded(text: string): string {
  return text.toLowerCase();
}
