import type { Clock } from '../platform/clock.ts';

/**
 * Passes results on in groups as they arrive: once all are there, or `lingerMs` after the first of a group. A batch whose
 * calls take about the same time is settled in one go, and one slow call does not hold up the rest. A result that is
 * `undefined` needs no settling.
 *
 * @throws what `settle` or one of the results throws, after all the others have ended
 */
export async function settleAsTheyCome<T>(
  results: readonly Promise<T | undefined>[],
  { clock, lingerMs, settle }: { clock: Clock; lingerMs: number; settle: (group: T[]) => Promise<void> },
): Promise<void> {
  let arrived: T[] = [];
  let first = Promise.withResolvers<void>();
  const watched = results.map(async (promise) => {
    const result = await promise;
    if (result === undefined) return;
    arrived.push(result);
    first.resolve();
  });
  const finished = Promise.allSettled(watched);
  let failure: { error: unknown } | undefined;
  let open = true;
  const closed = finished.then(() => {
    open = false;
    first.resolve();
  });
  while (open || arrived.length > 0) {
    await first.promise;
    const stop = new AbortController();
    if (open) await Promise.race([closed, clock.sleep(lingerMs, stop.signal).catch(() => {})]);
    stop.abort();
    const group = arrived;
    arrived = [];
    first = Promise.withResolvers();
    if (!open) first.resolve();
    try {
      if (group.length > 0) await settle(group);
    } catch (error) {
      // The other answers are known, and would otherwise have to be asked for again.
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  for (const outcome of await finished) if (outcome.status === 'rejected') throw outcome.reason;
}
