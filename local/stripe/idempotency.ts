import { invalid, Refusal } from './refusal.ts';
import type { Result, Store } from './store.ts';

/** Stripe may forget a key after this long, in milliseconds; here it does. */
const keyLifeMs = 24 * 3600 * 1000;
const longestKey = 255;

export type Idempotency = ReturnType<typeof createIdempotency>;

/**
 * Idempotency keys as Stripe has them (https://docs.stripe.com/api/idempotent_requests):
 *
 *     unknown ──call begins──► under way ──carried out──► kept ──24 h──► unknown
 *                                  └──refused before it was carried out──► unknown
 *
 * Under way: another call with the key is refused with 409. Kept: a call with the same parameters gets the
 * first one's result, a 500 too; one with others is refused with 400.
 */
export function createIdempotency(store: Store, now: () => number) {
  const underWay = new Set<string>();
  return {
    /**
     * Carries a call out once for its key. `request` is all that the key stands for. `execute` is one
     * transaction with the keeping of its result, so that a crash leaves both or none.
     *
     * @throws {Refusal} 400, 409, and what `execute` throws
     */
    async once(
      key: string | undefined,
      request: string,
      { wait, execute }: { wait: (() => Promise<void>) | undefined; execute: () => Result },
    ): Promise<Result & { replayed: boolean }> {
      if (key === undefined) {
        await wait?.();
        return { ...store.transaction(execute), replayed: false };
      }
      if (key.length > longestKey) {
        throw invalid(undefined, `Idempotency keys may not be longer than ${longestKey} characters.`);
      }
      if (underWay.has(key)) throw inUse(key);
      const kept = store.kept(key, now() - keyLifeMs);
      if (kept !== undefined) {
        if (kept.request !== request) throw otherParameters(key);
        return { status: kept.status, body: kept.body, replayed: true };
      }
      underWay.add(key);
      try {
        await wait?.();
        const result = store.transaction(() => {
          const done = execute();
          store.keep(key, request, done, now());
          return done;
        });
        return { ...result, replayed: false };
      } finally {
        underWay.delete(key);
      }
    },
  };
}

function inUse(key: string): Refusal {
  return new Refusal(409, {
    type: 'invalid_request_error',
    code: 'idempotency_key_in_use',
    message: `Another request with the idempotency key '${key}' is still under way. Try again later.`,
  });
}

function otherParameters(key: string): Refusal {
  return new Refusal(400, {
    type: 'idempotency_error',
    message: `The idempotency key '${key}' was used with other parameters before. Use another key for another request.`,
  });
}
