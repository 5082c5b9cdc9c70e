import type { PauseWatch } from '../pacing/pause.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import type { ProviderAccount } from './paymentProvider.ts';

/** Milliseconds between two questions: with an alert rule that looks every minute, a rejected key is known within five. */
const askEveryMs = 120_000;

/**
 * Asks the provider whether it takes our key, at most every two minutes, and reports the answer. Payments would tell too, but
 * only when one is due: a key that was revoked on a quiet evening would be found out by the first payment of the morning. The
 * question is no payment, so it waits for no turn and for no circuit breaker.
 *
 * While payments are paused, nothing is asked. No answer says nothing about the key, so then nothing is reported.
 */
export function keyCheck(
  provider: ProviderAccount,
  { clock, telemetry, log }: Pick<Instance, 'clock' | 'telemetry' | 'log'>,
  pause: Pick<PauseWatch, 'why'> = { why: async () => undefined },
): () => Promise<void> {
  let nextAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (clock.monotonic() < nextAt) return;
    if ((await pause.why().catch(() => 'not known')) !== undefined) return;
    nextAt = clock.monotonic() + askEveryMs;
    const answer = await provider.account();
    switch (answer.kind) {
      case 'rateLimited':
        return;
      case 'account':
        telemetry.record(metric.providerKeyRejected, 0);
        return;
      case 'unknown':
        if (answer.fault !== 'keyRejected') return;
        telemetry.record(metric.providerKeyRejected, 1);
        log(`the payment provider refuses our key: ${answer.message}`);
    }
  };
}
