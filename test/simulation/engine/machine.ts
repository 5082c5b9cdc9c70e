/**
 * A machine that runs one instance of the app, and its life:
 *
 *   running ──stall──► stalled ──its time is over──► running
 *      └────────────kill────────────► dead
 *
 * Whatever code does is a reaction to an event of its machine: a timer, an answer, a message. A dead machine gets none, so its
 * code stays at the `await` that it had reached, as after SIGKILL. A stalled one gets them all when it goes on.
 */
import type { Clock } from '../../../packages/leases/src/clock.ts';
import type { Event, EventQueue } from './eventQueue.ts';

/** Simulated time, and whose code runs. */
export interface Timeline {
  readonly events: EventQueue;
  /** True time: milliseconds since the epoch. No machine knows it. */
  now: number;
  running: Machine | undefined;
}

export interface Machine {
  readonly name: string;
  readonly clock: Clock;
  readonly alive: boolean;
  /** True while it stands still. */
  readonly stalled: boolean;
  /** Calls `fire` on this machine after `ms` milliseconds. Returns what cancels it. */
  later(ms: number, fire: () => void): () => void;
  kill(): void;
  /** Stands still. `frozen`: its monotonic clock does, too, as on a suspended virtual machine. */
  stall(ms: number, frozen: boolean): void;
  /** Sets the wall clock forward or back, in milliseconds. */
  setClock(byMs: number): void;
}

export function createMachine(
  timeline: Timeline,
  name: string,
  { clockErrorMs, monotonicAt }: { clockErrorMs: number; monotonicAt: number },
): Machine {
  const bootedAt = timeline.now;
  let wallOffset = clockErrorMs;
  let frozenMs = 0;
  let stalledUntil = 0;
  let alive = true;

  const machine: Machine = {
    name,
    clock: {
      now: () => timeline.now + wallOffset,
      monotonic: () => timeline.now - bootedAt + monotonicAt - frozenMs,
      sleep(ms, signal) {
        return new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason as Error);
          const abort = () => {
            cancel();
            reject(signal?.reason as Error);
          };
          const cancel = machine.later(ms, () => {
            signal?.removeEventListener('abort', abort);
            resolve();
          });
          signal?.addEventListener('abort', abort, { once: true });
        });
      },
      after: (ms, fire) => machine.later(ms, fire),
    },
    get alive() {
      return alive;
    },
    get stalled() {
      return timeline.now < stalledUntil;
    },
    later(ms, fire) {
      let event: Event;
      const arrive = () => {
        if (!alive) return;
        if (timeline.now < stalledUntil) {
          event = timeline.events.add(stalledUntil, arrive);
          return;
        }
        timeline.running = machine;
        fire();
      };
      // Timers are never early, and whole milliseconds keep the arithmetic of times exact.
      event = timeline.events.add(timeline.now + Math.max(0, Math.ceil(ms)), arrive);
      return () => {
        event.fire = undefined;
      };
    },
    kill() {
      alive = false;
    },
    stall(ms, frozen) {
      const until = Math.max(stalledUntil, timeline.now + ms);
      if (frozen) frozenMs += until - Math.max(stalledUntil, timeline.now);
      stalledUntil = until;
    },
    setClock(byMs) {
      wallOffset += byMs;
    },
  };
  return machine;
}
