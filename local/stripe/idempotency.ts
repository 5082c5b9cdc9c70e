import { invalid, Refusal } from './refusal.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';

/** Milliseconds after which Stripe may forget a key. This server always does. */
const keyLifeMs = 24 * 3600 * 1000;
const longestKey = 255;

type Wait = (() => Promise<void>) | undefined;

export type Idempotency = ReturnType<typeof createIdempotency>;

/**
 * Idempotency keys as at Stripe (https://docs.stripe.com/api/idempotent_requests):
 *
 *     unknown ──call starts──► in progress ──answered──► kept ──24 h──► unknown
 *                                   └──refused before execution──► unknown
 *
 * In progress: another call with the key gets 409. Kept: a call with the same parameters gets the first
 * call's result, even a 500; a call with different parameters gets 400.
 */
export function createIdempotency(store: Store, now: () => number) {
  const inProgress = new Set<string>();
  return {
    /**
     * Executes a call once per key. `request` is all that the key stands for: path and parameters. `execute`
     * and storing its result share one transaction, so that a crash leaves both or neither; `executed` is called
     * after it. `before` and `after` are the call's time around that, also for a replay.
     *
     * @throws {Refusal} 400, 409, and any error from `execute`
     */
    async once(
      key: string | undefined,
      request: string,
      {
        before,
        execute,
        executed,
        after,
      }: { before: Wait; execute: () => Result; executed: () => void; after: Wait },
    ): Promise<Result & { replayed: boolean }> {
      if (key === undefined) {
        await before?.();
        const result = store.transaction(execute);
        executed();
        await after?.();
        return { ...result, replayed: false };
      }
      if (key.length > longestKey) {
        throw invalid(undefined, `Idempotency keys may not be longer than ${longestKey} characters.`);
      }
      if (inProgress.has(key)) throw inUse(key);
      const kept = store.keys.kept(key, now() - keyLifeMs);
      if (kept !== undefined) {
        if (kept.request !== request) throw parametersDiffer(key);
        await before?.();
        await after?.();
        return { status: kept.status, body: kept.body, replayed: true };
      }
      inProgress.add(key);
      try {
        await before?.();
        const result = store.transaction(() => {
          const done = execute();
          store.keys.keep(key, request, done, now());
          return done;
        });
        executed();
        await after?.();
        return { ...result, replayed: false };
      } finally {
        inProgress.delete(key);
      }
    },
  };
}

function inUse(key: string): Refusal {
  return new Refusal(409, {
    type: 'invalid_request_error',
    code: 'idempotency_key_in_use',
    message: `Another request with the idempotency key '${key}' is still in progress. Try again later.`,
  });
}

function parametersDiffer(key: string): Refusal {
  return new Refusal(400, {
    type: 'idempotency_error',
    message: `The idempotency key '${key}' was already used with different parameters. Use a new key for a different request.`,
  });
}
