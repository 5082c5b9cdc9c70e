import { useEffect, useState } from 'preact/hooks';
import { exactTime, localTime, relativeTime } from '../format/relativeTime.ts';

/** A time in the reader's time zone, and as seen from now; the exact one shows on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (at === null || at === undefined) return <span class="quiet">–</span>;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {localTime(at, now)} <span class="quiet">({relativeTime(Date.parse(at), now)})</span>
    </time>
  );
}

/** A time to the second. */
export function ExactTime({ at }: { at: string }) {
  return <time dateTime={at}>{exactTime(at)}</time>;
}

/** The present time (ms) of this look at the page; it looks again every 5 s. */
export function useNow(): number {
  const [, setLooks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setLooks((looks) => looks + 1), 5_000);
    return () => clearInterval(timer);
  }, []);
  return Date.now();
}
