/**
 * Calls that may open the circuit of an instance: those that fail, and those that the provider never answers.
 */

/** A call without an answer for so long will time out, in milliseconds: the invariants need not wait for that. */
const silentMs = 5_000;

export function createProviderTrouble(now: () => number) {
  /** When each call without an answer began. */
  const unanswered = new Set<{ began: number }>();
  let failed = false;

  return {
    /** A call is made. Returns what is called with its answer, which may never come. */
    asking: (): ((isFailure: boolean) => void) => {
      const call = { began: now() };
      unanswered.add(call);
      return (isFailure) => {
        unanswered.delete(call);
        failed ||= isFailure || now() - call.began >= silentMs;
      };
    },
    /** True if a circuit may have opened. It closes with the next call, however much later that comes. */
    seen: (): boolean => failed || [...unanswered].some(({ began }) => now() - began >= silentMs),
  };
}
