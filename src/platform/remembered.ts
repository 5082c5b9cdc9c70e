import type { Clock } from '@payonce/leases/clock';

/**
 * The same function, whose answer serves everybody who asks within `ms` milliseconds of the question, also while it is
 * being found. A failure is not remembered.
 */
export function remembered<T>(load: () => Promise<T>, ms: number, clock: Clock): () => Promise<T> {
  let latest: { at: number; answer: Promise<T> } | undefined;
  return () => {
    const now = clock.monotonic();
    if (latest !== undefined && now - latest.at < ms) return latest.answer;
    const asked = { at: now, answer: load() };
    latest = asked;
    asked.answer.catch(() => {
      if (latest === asked) latest = undefined;
    });
    return asked.answer;
  };
}
