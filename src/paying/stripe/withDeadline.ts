/**
 * What `work` answers, or `late` once `boundMs` milliseconds are over. Late work is told so by its signal; whatever comes of
 * it is dropped.
 */
export async function withDeadline<T>(
  boundMs: number,
  late: T,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const deadline = Promise.withResolvers<T>();
  const timer = setTimeout(() => {
    over.abort();
    deadline.resolve(late);
  }, boundMs);
  try {
    return await Promise.race([work(over.signal), deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}
