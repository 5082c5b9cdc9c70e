import { useEffect, useRef, useState } from 'preact/hooks';

const highlightMs = 1_600;

/** True for a moment after the value has become another one. */
export function useChanged(value: string | number): boolean {
  const before = useRef(value);
  const [changed, setChanged] = useState(false);
  useEffect(() => {
    if (before.current === value) return undefined;
    before.current = value;
    setChanged(true);
    const timer = setTimeout(() => setChanged(false), highlightMs);
    return () => clearTimeout(timer);
  }, [value]);
  return changed;
}
