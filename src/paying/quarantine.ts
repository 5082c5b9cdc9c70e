import type { Clock } from '../platform/clock.ts';

/**
 * Lets one piece of work at a time be called in this process. Two invoices that are tried apart must not be called at the
 * same moment: if one of them ends the process, both would end without a word again.
 */
export interface Quarantine {
  /** Undefined if it is not this one's turn before `before` (monotonic milliseconds). Dispose of it when the work ends. */
  enter(entry: { attempt: number; before: number }): Promise<Disposable | undefined>;
}

interface Waiter {
  attempt: number;
  letIn: (place: Disposable) => void;
}

/** Those that have been tried least often go first: they are the least likely to end the process. */
export function createQuarantine(clock: Clock): Quarantine {
  let waiting: Waiter[] = [];
  let taken = false;

  return {
    enter({ attempt, before }) {
      const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
      const entered = new AbortController();
      const waiter: Waiter = {
        attempt,
        letIn(place) {
          entered.abort();
          resolve(place);
        },
      };
      waiting.push(waiter);
      clock.sleep(Math.max(0, before - clock.monotonic()), entered.signal).then(
        () => {
          leaveOut(waiter);
          resolve(undefined);
        },
        () => {},
      );
      next();
      return promise;
    },
  };

  function next(): void {
    if (taken) return;
    const [first] = waiting.toSorted((one, other) => one.attempt - other.attempt);
    if (first === undefined) return;
    leaveOut(first);
    taken = true;
    first.letIn({
      [Symbol.dispose]() {
        taken = false;
        next();
      },
    });
  }

  function leaveOut(waiter: Waiter): void {
    waiting = waiting.filter((one) => one !== waiter);
  }
}
