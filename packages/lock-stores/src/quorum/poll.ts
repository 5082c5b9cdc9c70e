import type { LockStore } from '@payonce/leases';
import { type Clock, limit, RequestTimedOut } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import type { Ballot } from './quorumViews.ts';

/** A question to every member of a quorum, and the meaning of their answers. */
export interface Question<T, R> {
  ask: (store: LockStore, signal: AbortSignal, member: number) => Promise<T>;
  /** The outcome; undefined while more answers are needed. */
  decide: (ballot: Ballot<T>) => R | undefined;
  /** Does the rest at a member that has answered, once the outcome is known. Failures are ignored. */
  after?: (store: LockStore, answer: T, outcome: R) => Promise<unknown>;
  /** Runs the task of a member when its turn comes. Default: at once. */
  turn?: (member: number, task: () => Promise<void>) => unknown;
}

/**
 * Asks all members at once and goes by the first answers that decide. A slow one gets `ms` milliseconds; nobody waits for it
 * unless it can turn the outcome. Without `ms`, it gets as long as `signal` allows.
 *
 * @throws {TooFewAnswers} if the answers do not decide, and the reason of `signal` as soon as that aborts.
 */
export async function poll<T, R>(
  members: readonly LockStore[],
  clock: Clock,
  ms: number | undefined,
  signal: AbortSignal,
  { ask, decide, after, turn = (_, task) => task() }: Question<T, R>,
): Promise<R> {
  signal.throwIfAborted();
  const answers = new Map<number, T>();
  const failures = new Map<number, unknown>();
  const decided = Promise.withResolvers<R>();
  const giving = new AbortController();
  let outcome: R | undefined;

  function weigh(): void {
    const pending = members.length - answers.size - failures.size;
    outcome ??= decide({ answers, pending });
    if (outcome !== undefined) decided.resolve(outcome);
    if (pending > 0) return;
    if (outcome === undefined) {
      decided.reject(new TooFewAnswers(answers.size, members.length, [...failures.values()]));
    }
    signal.removeEventListener('abort', abort);
    cancel?.();
  }

  async function vote(store: LockStore, member: number): Promise<void> {
    try {
      giving.signal.throwIfAborted();
      const answer = await ask(store, giving.signal, member);
      if (failures.has(member)) return;
      answers.set(member, answer);
      weigh();
      if (after !== undefined) await after(store, answer, await decided.promise);
    } catch (error) {
      if (answers.has(member) || failures.has(member)) return;
      failures.set(member, error);
      weigh();
    }
  }

  /** A store that has not answered by now has failed, even if it does not heed the signal. */
  function giveUp(reason: unknown): void {
    giving.abort(reason);
    for (const member of members.keys())
      if (!answers.has(member) && !failures.has(member)) failures.set(member, reason);
    weigh();
  }

  function abort(): void {
    decided.reject(signal.reason);
    giveUp(signal.reason);
  }

  decided.promise.catch(() => {});
  signal.addEventListener('abort', abort, { once: true });
  const cancel = ms === undefined ? undefined : limit(clock, ms, () => giveUp(new RequestTimedOut(ms)));
  for (const [member, store] of members.entries()) void turn(member, () => vote(store, member));
  return decided.promise;
}

/** Nothing was learned: too few members of a quorum answered, or their answers decide nothing. */
export class TooFewAnswers extends Error {
  override readonly name = 'TooFewAnswers';
  readonly failures: readonly unknown[];

  constructor(answered: number, members: number, failures: readonly unknown[]) {
    const cause = new AggregateError(failures);
    const why = failures.length > 0 ? `: ${errorText(cause)}` : '';
    super(`the answers of ${answered} of ${members} stores do not decide${why}`, { cause });
    this.failures = failures;
  }
}
