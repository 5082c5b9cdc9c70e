/** Milliseconds of computing after which everything else gets its turn. */
export const turnMs = 5;

/** If all else took less than this in one round of the event loop, nothing is waiting for it. In milliseconds. */
const idleMs = 1;
/** Rounds that all else gets at most before the next turn, however much there is to do. */
const mostRounds = 10;

/** Turns of computing that would otherwise keep the event loop from everything else. */
export interface Turns {
  /** Resolves when it is the caller's turn. Compute for `turnMs` at most, then ask for the next turn. */
  next(): Promise<void>;
}

/**
 * One for a process: of all who compute, one has a turn at a time. Between two turns the event loop goes round until it has
 * little else to do: where a payment takes many rounds, it does not take a turn of somebody else in each.
 */
export function eventLoopTurns(): Turns {
  let last = Promise.resolve();
  return {
    next() {
      last = last.then(othersAreDone);
      return last;
    },
  };
}

async function othersAreDone(): Promise<void> {
  for (let rounds = 0; rounds < mostRounds; rounds++) {
    const began = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    if (performance.now() - began < idleMs) return;
  }
}
