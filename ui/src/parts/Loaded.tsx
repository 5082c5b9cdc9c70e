import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Polled } from '../hooks/polled.ts';
import { Failure, failureText } from './Failure.tsx';

const skeletonAfterMs = 300;

/** What a look has found; before that a skeleton, or why there is nothing. Stale data says so. */
export function Loaded<T>({
  look: { data, error, asOf, reload },
  children,
}: {
  look: Polled<T>;
  children: (data: T) => ComponentChildren;
}) {
  if (data === undefined) {
    return error === undefined ? <Skeleton /> : <Failure error={error} retry={reload} />;
  }
  return (
    <>
      {error !== undefined && (
        <p class="stale" role="alert">
          As of {new Date(asOf ?? 0).toISOString().slice(11, 19)} UTC: {failureText(error)}{' '}
          <button type="button" onClick={reload}>
            Try again
          </button>
        </p>
      )}
      {children(data)}
    </>
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
