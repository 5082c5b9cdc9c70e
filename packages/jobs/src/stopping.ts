import { bounded, type Clock } from '@payonce/leases/clock';

/**
 * `functionTimeout` of host.json, in milliseconds. If a function takes longer, the host kills the whole process,
 * whatever else it is doing.
 */
export const functionTimeoutMs = 10 * 60_000;

/** Reserved so that running work can finish once time is up, in milliseconds. */
const reserveMs = 30_000;

/** The abort reason when a function has used nearly all the time the host gives it. */
export class TimeIsUp extends Error {
  override readonly name = 'TimeIsUp';
  constructor() {
    super('time is up');
  }
}

/** Time that work in a function may go on (ms): it ends 30 s before the host would kill the process. */
export const functionBudgetMs = functionTimeoutMs - reserveMs;

/**
 * A signal for long work that starts now. It aborts with `TimeIsUp` after `limitMs` milliseconds (Infinity: never), or when
 * `signal` aborts. Dispose of it when the work ends.
 */
export function timeBudget(
  clock: Clock,
  signal?: AbortSignal,
  limitMs = functionBudgetMs,
): { readonly signal: AbortSignal } & Disposable {
  const timeUp = new AbortController();
  const ended = new AbortController();
  if (limitMs !== Number.POSITIVE_INFINITY) {
    clock.sleep(limitMs, ended.signal).then(
      () => timeUp.abort(new TimeIsUp()),
      () => {},
    );
  }
  return {
    signal: signal === undefined ? timeUp.signal : AbortSignal.any([signal, timeUp.signal]),
    [Symbol.dispose]: () => ended.abort(),
  };
}

/**
 * Time that everything at shutdown may take together (ms). The host tells a worker 10 s late that it stops, and kills it 5 s
 * after that (measured on version 4.1037), so this is all there is. What does not fit is done by others: leases run out,
 * messages come again.
 */
export const stopBudgetMs = 4_000;

/** One thing to do at shutdown. */
export interface StopStep {
  /** When it is over at the latest, in milliseconds since the shutdown began. */
  byMs: number;
  /** `leftMs`: the time until then. */
  run: (leftMs: number) => Promise<unknown>;
}

/**
 * Takes one step after the other, the most important first. A step that is not done in time is left behind: it goes on
 * beside those that follow. One that fails holds nothing up. Never rejects.
 */
export async function stopInOrder(clock: Clock, steps: readonly StopStep[]): Promise<void> {
  const began = clock.monotonic();
  for (const { byMs, run } of steps) {
    const leftMs = Math.max(0, began + byMs - clock.monotonic());
    await waitAtMost(clock, leftMs, run(leftMs));
  }
}

/** Parts of an app that have to end when it stops. */
export interface Stopping {
  /** Takes no new leases, lets running steps finish, and gives the leases back. */
  locks: { drain(graceMs: number): Promise<void> };
  /** Resolves when running work has ended. */
  work: (withinMs: number) => Promise<void>;
  /** The sender of the messages that the work has left to be sent. */
  sender: { drained(withinMs: number): Promise<void> };
  /** The last metrics; and beside them the last spans, which matter less and delay nothing. */
  sendMetrics: () => Promise<void>;
  cloud: { close(): Promise<void> };
}

/** Time that steps under leases have to finish (ms). Then the leases are taken from them. */
const stepMs = 1_500;

/**
 * Gives the leases back while payments in flight settle; then sends the follow-ups and the last metrics. Nothing depends on
 * it: whatever is not done within `stopBudgetMs` is done elsewhere, as after a crash.
 */
export function stopApp(clock: Clock, { locks, work, sender, sendMetrics, cloud }: Stopping): Promise<void> {
  return stopInOrder(clock, [
    { byMs: 2_500, run: (leftMs) => Promise.all([locks.drain(stepMs), work(leftMs)]) },
    { byMs: 3_000, run: (leftMs) => sender.drained(leftMs) },
    { byMs: 3_700, run: sendMetrics },
    { byMs: stopBudgetMs, run: () => cloud.close() },
  ]);
}

/** Resolves when `work` has ended in whatever way, and after `ms` milliseconds in any case. */
async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  await bounded(clock, ms, () => work).catch(() => {});
}

/** Work that a stopping process waits for before it closes its connections. */
export interface WorkInFlight {
  /** Passes the work on, and remembers it until it ends. */
  track: <T>(work: Promise<T>) => Promise<T>;
  /** Resolves when all of it has ended, or after `withinMs` milliseconds. */
  ended: (withinMs: number) => Promise<void>;
}

export function workInFlight(clock: Clock): WorkInFlight {
  const inFlight = new Set<Promise<unknown>>();
  return {
    track(work) {
      inFlight.add(work);
      const done = () => inFlight.delete(work);
      work.then(done, done);
      return work;
    },
    ended: (withinMs) => waitAtMost(clock, withinMs, Promise.allSettled(inFlight)),
  };
}
