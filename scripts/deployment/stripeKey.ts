import Stripe from 'stripe';
import { errorText } from '../../packages/leases/src/errorText.ts';
import { stripeKey } from '../../src/settings/fields.ts';
import { isLiveKey, stripeClient } from '../../src/stripe/stripeClient.ts';

/** Outcome of the check of a key. */
export type KeyCheck =
  | { kind: 'valid'; mode: 'live' | 'test' }
  /** The key is no key, Stripe does not know it, or it may not do what the app does. */
  | { kind: 'refused'; why: string }
  /** Stripe could not be asked. */
  | { kind: 'unclear'; why: string };

const timeoutMs = 15_000;

/**
 * Asks Stripe whether a key is known and may read payments. It creates nothing there. A restricted key that passes may
 * still lack other permissions that the app needs.
 */
export async function checkStripeKey(text: string, apiBase = 'https://api.stripe.com'): Promise<KeyCheck> {
  const read = stripeKey().safeParse(text);
  if (!read.success) return { kind: 'refused', why: read.error.issues[0]?.message ?? 'is not a key' };
  const secretKey = read.data;
  try {
    await stripeClient({ secretKey, apiBase, timeoutMs }).paymentIntents.list({ limit: 1 });
    return { kind: 'valid', mode: isLiveKey(secretKey) ? 'live' : 'test' };
  } catch (error) {
    if (error instanceof Stripe.errors.StripeAuthenticationError)
      return { kind: 'refused', why: 'Stripe does not know this key: it is mistyped, expired or revoked' };
    if (error instanceof Stripe.errors.StripePermissionError)
      return {
        kind: 'refused',
        why: 'the restricted key may not read payments: give it write access to PaymentIntents',
      };
    return { kind: 'unclear', why: `Stripe could not be asked: ${errorText(error)}` };
  }
}

/** The text of an azd environment file without the key. */
export function withoutKey(envFile: string): string {
  return envFile.replace(/^STRIPE_SECRET_KEY=.*(\r?\n|$)/gm, '');
}
