/** Where a request is cut: just before it is forwarded, or when it was applied and its answer is on the way back. */
export type Position = 'before' | 'after';
export const positions: readonly Position[] = ['before', 'after'];

/** The `occurrence`-th request (from 1) of this kind, since counting began. */
export interface CrashPoint {
  label: string;
  occurrence: number;
  position: Position;
}

/** A request that passes a tap: whether its host is to die by it. */
export interface Passage {
  cut?: Position;
}

export interface Gate {
  /** Counts a request; what comes of it is in the answer. `only`: the position in which this one can be cut. */
  pass(label: string, only?: Position): Passage;
  /** From here on requests are counted. */
  open(): void;
  /** How often each kind has passed, in the order of its first time. */
  counts(): ReadonlyMap<string, number>;
  /** The kinds that can be cut in one position only. */
  only: ReadonlyMap<string, Position>;
}

/** Counts what passes, and names the one request that is to be cut, if any. */
export function createGate(point?: CrashPoint): Gate {
  const counts = new Map<string, number>();
  const only = new Map<string, Position>();
  let counting = false;
  return {
    only,
    open() {
      counting = true;
    },
    counts: () => counts,
    pass(label, position) {
      if (!counting) return {};
      const occurrence = (counts.get(label) ?? 0) + 1;
      counts.set(label, occurrence);
      if (position !== undefined) only.set(label, position);
      const hit = point?.label === label && point.occurrence === occurrence;
      return hit ? { cut: point.position } : {};
    },
  };
}
