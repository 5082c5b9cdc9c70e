import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Live } from './live.ts';
import { nextPollMs } from './nextPoll.ts';

export interface Polled<T> {
  data: T | undefined;
  /** Why the latest look failed; the data is that of the look before. */
  error: unknown;
  /** When the data was read, in milliseconds. */
  asOf: number | undefined;
  /** Looks at once. */
  reload: () => void;
}

interface Look<T> {
  /** Looks of another name start from nothing. */
  name: string;
  load: () => Promise<T>;
  /** True if work moves: then it looks more often. */
  isBusy?: (data: T) => boolean;
  /** It looks once, and again only when it is told to: for what costs much to find. */
  once?: boolean;
}

/** Looks again and again while the tab is visible and live updates are on; less often while nothing moves or it fails. */
export function usePolled<T>({ name, load, isBusy = () => false, once = false }: Look<T>): Polled<T> {
  const live = useContext(Live) && !once;
  const [state, setState] = useState<{ name: string; data?: T; error?: unknown; asOf?: number }>({ name });
  const [asked, setAsked] = useState(0);
  const looking = useRef({ load, isBusy });
  looking.current = { load, isBusy };

  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    // A failed look says nothing about the work.
    let busy = false;
    let busyLooks = 0;

    async function look(): Promise<void> {
      clearTimeout(timer);
      try {
        const data = await looking.current.load();
        if (ended) return;
        failures = 0;
        busy = looking.current.isBusy(data);
        busyLooks = busy ? busyLooks + 1 : 0;
        setState({ name, data, asOf: Date.now() });
      } catch (error) {
        if (ended) return;
        failures++;
        setState((before) => (before.name === name ? { ...before, error } : { name, error }));
      }
      if (live && !document.hidden)
        timer = setTimeout(() => void look(), nextPollMs(busy, failures, busyLooks - 1));
    }
    function onVisible(): void {
      clearTimeout(timer);
      if (live && !document.hidden) void look();
    }

    void look();
    document.addEventListener('visibilitychange', onVisible);
    addEventListener('online', onVisible);
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
      removeEventListener('online', onVisible);
    };
  }, [name, live, asked]);

  const reload = useCallback(() => setAsked((count) => count + 1), []);
  const own = state.name === name ? state : { name };
  return { data: own.data, error: own.error, asOf: own.asOf, reload };
}
