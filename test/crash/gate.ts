/** Where a request is cut: just before it is forwarded, or after it was applied, while its answer is on the way back. */
export type Position = 'before' | 'after';
export const positions: readonly Position[] = ['before', 'after'];

/** The `occurrence`-th request (from 1) of this kind, since counting began. */
export interface CrashPoint {
  label: string;
  occurrence: number;
  position: Position;
}

/** Decision of the gate about a request: the position in which it kills the host. Absent: it does not. */
export interface Passage {
  cut?: Position;
}

export interface Gate {
  /** Counts a request and decides about it. `only`: the one position in which this request can be cut. */
  pass(label: string, only?: Position): Passage;
  /** Starts counting. */
  open(): void;
  /** Returns the number of requests that have passed, by kind, in order of first appearance. */
  counts(): ReadonlyMap<string, number>;
  /** Kinds that can be cut in one position only. */
  only: ReadonlyMap<string, Position>;
}

/** A gate that cuts the request at `point`, or none. */
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
