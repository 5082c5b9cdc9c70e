import Stripe from 'stripe';
import type { AccountAnswer, RateLimited } from '../paymentProvider.ts';
import { rateLimited, silentAfter } from './classifyStripe.ts';
import { inTime, isLiveKey, type StripeOptions } from './stripeClient.ts';

/**
 * The account and the mode that a key belongs to (https://docs.stripe.com/api/accounts). A restricted key may not read its
 * account unless it was given the permission, which Stripe names in its answer; the mode is known all the same.
 */
export function stripeAccount(
  stripe: Stripe,
  { secretKey, timeoutMs }: Pick<StripeOptions, 'secretKey' | 'timeoutMs'>,
): Promise<AccountAnswer | RateLimited> {
  const mode = isLiveKey(secretKey) ? 'live' : 'test';
  return inTime<AccountAnswer | RateLimited>(timeoutMs, async () => {
    try {
      const { id } = await stripe.accounts.retrieveCurrent();
      return { kind: 'account', id, mode };
    } catch (error) {
      if (error instanceof Stripe.errors.StripePermissionError) {
        return { kind: 'account', mode, message: whyUnreadable(error.message) };
      }
      return rateLimited(error) ?? silentAfter(error);
    }
  });
}

/** Stripe's answer names the permission, but the key as well, if only in part. */
function whyUnreadable(message: string): string {
  const [permission] = /\brak_\w+/.exec(message) ?? [];
  const needed = permission === undefined ? '' : `; the permission ${permission} would allow it`;
  return `the secret key may not read its account${needed}`;
}
