import type { Instance } from '../platform/instance.ts';
import { type AccountState, accountCheck } from './accountCheck.ts';
import type { AccountRecord } from './accountRecord.ts';
import type { HeldBack, PaymentProvider } from './paymentProvider.ts';

/** How soon a call that was held back is worth another try, in milliseconds. */
const againMs = { changed: 60_000, unclear: 5_000 };

/**
 * Keeps a provider's calls to the account that the deployment began with. Elsewhere keys mean nothing and no payment would be
 * found, so look-ups are held back like charges: invoices wait, and none is declined or parked. A provider that cannot name
 * its account is not checked.
 */
export function checkedAccount(
  given: Pick<PaymentProvider, 'account'>,
  record: AccountRecord,
  instance: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
) {
  const { account } = given;
  const check =
    account === undefined
      ? undefined
      : accountCheck({ account: () => account.call(given) }, record, instance);
  return {
    /** The same provider, whose calls are made only in that account. */
    guard: (provider: PaymentProvider): PaymentProvider =>
      check === undefined ? provider : guarded(provider, check),
    /** Fails if the account has changed. A provider that does not answer is no failure of ours. */
    healthChecks:
      check === undefined
        ? []
        : [
            {
              name: 'paymentAccount',
              async probe() {
                const state = await check();
                if (state.kind === 'changed') throw state.error;
              },
            },
          ],
  };
}

function guarded(provider: PaymentProvider, check: () => Promise<AccountState>): PaymentProvider {
  const { charge, find, retrieve, cancel, refund, defaultMethod } = provider;
  return {
    charge: inAccount(charge),
    find: inAccount(find),
    ...(retrieve && { retrieve: inAccount(retrieve) }),
    ...(cancel && { cancel: inAccount(cancel) }),
    ...(refund && { refund: inAccount(refund) }),
    ...(defaultMethod && { defaultMethod: inAccount(defaultMethod) }),
  };

  function inAccount<Given, Answer>(call: (given: Given) => Promise<Answer>) {
    return async (given: Given): Promise<Answer | HeldBack> => {
      const state = await check();
      if (state.kind === 'same') return call.call(provider, given);
      const why =
        state.kind === 'changed' ? state.error.message : `the account is not known: ${state.message}`;
      return { kind: 'heldBack', message: why, retryAfterMs: againMs[state.kind] };
    };
  }
}
