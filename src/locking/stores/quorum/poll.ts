import type { Clock } from '../../../platform/clock.ts';
import { errorText } from '../../../platform/errorText.ts';
import { RequestTimedOut } from '../../bounded.ts';
import type { LockStore } from '../../lockStore.ts';
import { untilAborted } from '../untilAborted.ts';
import type { Ballot } from './quorumViews.ts';

/** What to ask every member of a quorum, and what their answers mean. */
export interface Question<T, R> {
  ask: (store: LockStore, signal: AbortSignal, member: number) => Promise<T>;
  /** The outcome; undefined while more answers are needed. */
  decide: (ballot: Ballot<T>) => R | undefined;
  /** What is left to do at a member once the outcome is known. Failures are ignored. */
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
  const answers = new Map<number, T>();
  const failures: unknown[] = [];
  const decided = Promise.withResolvers<R>();
  decided.promise.catch(() => {});
  const limit = new AbortController();
  const settled = new AbortController();

  function weigh(): void {
    const pending = members.length - answers.size - failures.length;
    const outcome = decide({ answers, pending });
    if (outcome !== undefined) decided.resolve(outcome);
    if (pending > 0) return;
    settled.abort(allSettled);
    decided.reject(new TooFewAnswers(answers.size, members.length, failures));
  }

  async function vote(store: LockStore, member: number): Promise<void> {
    let answer: T;
    try {
      answer = await untilAborted(limit.signal, () => ask(store, limit.signal, member));
    } catch (error) {
      failures.push(error);
      return weigh();
    }
    answers.set(member, answer);
    weigh();
    if (after === undefined) return;
    await decided.promise.then((outcome) => after(store, answer, outcome)).catch(() => {});
  }

  const giveUp = () => limit.abort(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  settled.signal.addEventListener('abort', () => signal.removeEventListener('abort', giveUp));
  if (ms !== undefined) {
    clock.sleep(ms, settled.signal).then(
      () => limit.abort(new RequestTimedOut(ms)),
      () => {},
    );
  }
  for (const [member, store] of members.entries()) void turn(member, () => vote(store, member));
  return untilAborted(signal, () => decided.promise);
}

/** Nothing was learned: too few members of a quorum answered, or their answers decide nothing. */
export class TooFewAnswers extends Error {
  override readonly name = 'TooFewAnswers';

  constructor(answered: number, members: number, failures: readonly unknown[]) {
    const cause = new AggregateError(failures);
    const why = failures.length > 0 ? `: ${errorText(cause)}` : '';
    super(`the answers of ${answered} of ${members} stores do not decide${why}`, { cause });
  }
}

const allSettled = new Error('all have answered');
