import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { exactTime, relativeTime } from '../format/relativeTime.ts';
import type { Polled } from '../hooks/polled.ts';
import { State } from '../hooks/state.ts';
import { Failure, failureText } from './Failure.tsx';
import { useNow } from './Time.tsx';

const skeletonAfterMs = 300;

/** Shows what a look has found; before that a skeleton, or why there is nothing. Stale data says so. */
export function Loaded<T>({
  look: { data, error, asOf, reload },
  children,
}: {
  look: Polled<T>;
  children: (data: T) => ComponentChildren;
}) {
  const { away } = useContext(State);
  if (data === undefined) {
    return error === undefined ? <Skeleton /> : <Failure error={error} retry={reload} />;
  }
  return (
    <>
      {error !== undefined && (
        <p class="stale" role="alert">
          As of {new Date(asOf ?? 0).toISOString().slice(11, 19)} UTC
          {away === undefined && `: ${failureText(error)}`}{' '}
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {error === undefined && asOf !== undefined && <Old asOf={asOf} />}
      {children(data)}
    </>
  );
}

/** Age from which a page says how old it is (ms). */
const oldMs = 60_000;

/** A page that nothing updates says so. */
function Old({ asOf }: { asOf: number }) {
  const now = useNow();
  if (now - asOf < oldMs) return null;
  return (
    <p class="quiet">
      As of {exactTime(new Date(asOf).toISOString())} ({relativeTime(asOf, now)})
    </p>
  );
}

function Skeleton() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), skeletonAfterMs);
    return () => clearTimeout(timer);
  }, []);
  return late ? (
    <div class="skeleton" aria-busy="true">
      <span class="hidden">Loading</span>
      <i />
      <i />
      <i />
    </div>
  ) : null;
}
