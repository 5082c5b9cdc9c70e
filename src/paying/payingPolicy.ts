import { defaultSettlementPolicy } from './decideSettlement.ts';
import type { PayingPolicy } from './payBatch.ts';
import { callWindowMs } from './paymentTimeout.ts';

/** The policy of one process: what the settings say, and what they need not. */
export function payingPolicy({
  claimStaleMs,
  timeoutMs,
}: {
  claimStaleMs: number;
  /** Time-out of one provider call, in milliseconds. */
  timeoutMs: number;
}): PayingPolicy {
  return {
    settlement: defaultSettlementPolicy,
    concurrentCalls: 64,
    claimStaleMs,
    callWindowMs: callWindowMs({ claimStaleMs, timeoutMs }),
    lingerMs: 250,
  };
}
