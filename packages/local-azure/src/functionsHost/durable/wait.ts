/** Promises of a replay, whose listeners run synchronously, inside `settle`. */

export type Outcome = 'succeeded' | 'failed';

export class Wait {
  outcome: Outcome | undefined;
  readonly #listeners: ((outcome: Outcome) => void)[] = [];

  settle(outcome: Outcome): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    for (const listener of this.#listeners) listener(outcome);
  }

  whenDone(listener: (outcome: Outcome) => void): void {
    if (this.outcome === undefined) this.#listeners.push(listener);
    else listener(this.outcome);
  }
}

export function settled(): Wait {
  const wait = new Wait();
  wait.settle('succeeded');
  return wait;
}

export function firstOf(waits: Wait[]): Wait {
  const any = new Wait();
  for (const one of waits) one.whenDone(() => any.settle('succeeded'));
  return any;
}

/** Settles once all have; a failure does not end the wait early (as with Task.WhenAll in .NET). */
export function allOf(waits: Wait[]): Wait {
  const all = new Wait();
  let left = waits.length;
  for (const one of waits) {
    one.whenDone(() => {
      left--;
      if (left === 0) all.settle(waits.some(({ outcome }) => outcome === 'failed') ? 'failed' : 'succeeded');
    });
  }
  return all;
}
