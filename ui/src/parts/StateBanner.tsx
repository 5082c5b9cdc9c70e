import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { awaySince, onAway } from '../api/away.ts';
import { api } from '../api/requests.ts';
import { exactTime } from '../format/relativeTime.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { State } from '../hooks/state.ts';
import { PauseBanner } from './PauseBanner.tsx';

/** Above every page: that payments are paused, and that the app does not answer. */
export function StateBanner({ children }: { children: ComponentChildren }) {
  const [away, setAway] = useState(awaySince);
  useEffect(() => onAway(() => setAway(awaySince())), []);
  const has = useHasCall('getPause');
  const { data, reload } = usePolled({
    name: `pause ${has}`,
    load: async () => (has ? api.pauseInForce() : { paused: null }),
  });
  return (
    <State.Provider value={{ pause: data?.paused, away, reload }}>
      {away !== undefined && (
        <p class="away" role="alert">
          The app has not answered since {exactTime(new Date(away).toISOString())}. What this page shows may
          have changed since.
        </p>
      )}
      <PauseBanner pause={data?.paused ?? null} done={reload} />
      {children}
    </State.Provider>
  );
}
