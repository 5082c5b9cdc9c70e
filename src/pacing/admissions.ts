import type { Clock } from '../platform/clock.ts';

/** Work that was let in: while it is open, its calls count as waiting. */
export interface Admission extends Disposable {
  readonly calls: number;
}

/** Work that waits to be begun until its calls can be made soon, in the order in which it came. */
export interface Admissions {
  /** Undefined if it is not let in before `before` (monotonic milliseconds). */
  wait(calls: number, before: number): Promise<Admission | undefined>;
  /** Lets work in for as long as there is room. */
  go(hasRoom: () => boolean): void;
  /** Lets nothing more in. */
  end(): void;
  readonly waiting: number;
  /** Calls of the work that waits. */
  readonly waitingCalls: number;
  /** Calls of the work that was let in and is open. */
  readonly calls: number;
}

export function createAdmissions(clock: Clock): Admissions {
  let queue: { calls: number; before: number; resolve: (admission: Admission | undefined) => void }[] = [];
  let open = 0;

  return {
    wait: (calls, before) => new Promise((resolve) => queue.push({ calls, before, resolve })),
    go(hasRoom) {
      const now = clock.monotonic();
      for (const { before, resolve } of queue) if (before <= now) resolve(undefined);
      queue = queue.filter(({ before }) => before > now);
      while (hasRoom()) {
        const next = queue.shift();
        if (next === undefined) return;
        next.resolve(letIn(next.calls));
      }
    },
    end() {
      for (const { resolve } of queue.splice(0)) resolve(undefined);
    },
    get waiting() {
      return queue.length;
    },
    get waitingCalls() {
      return queue.reduce((sum, { calls }) => sum + calls, 0);
    },
    get calls() {
      return open;
    },
  };

  function letIn(calls: number): Admission {
    let counted = calls;
    open += calls;
    return {
      calls,
      [Symbol.dispose]() {
        open -= counted;
        counted = 0;
      },
    };
  }
}
