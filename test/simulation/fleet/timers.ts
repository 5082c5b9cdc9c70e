/**
 * When the timers fire. A tick that would find nothing is left out, however long that goes on: a simulation of weeks takes no
 * longer than what happens in them.
 */
import type { StoredDocument } from '../../memory/memoryDocuments.ts';
import type { Event } from '../engine/eventQueue.ts';
import type { Timeline } from '../engine/machine.ts';

export const timerNames = ['processInvoices', 'sweepOutbox', 'trackPayments'] as const;
export type TimerName = (typeof timerNames)[number];

const fieldOf = {
  processInvoices: 'actionableAt',
  sweepOutbox: 'nextAttemptAt',
  trackPayments: 'checkAt',
} as const satisfies Record<TimerName, string>;

export interface Timers {
  /** A document was written: the timer that looks for it is set. */
  wrote(document: StoredDocument): void;
  /** A document is gone. */
  forgot(id: string): void;
  /** The timer has something else to find from this time on (default: now), until a tick has. */
  wait(name: TimerName, what: string, from?: number): void;
  /** A tick that has begun at `since` (milliseconds) has found what was there by then. */
  found(name: TimerName, what: string, since: number): void;
  /** The documents that a timer looks for, and since when each is due (milliseconds). */
  due(name: TimerName): ReadonlyMap<string, number>;
  /** From now on every tick fires while `goesOn` is true, so that a test sees what ticks report. */
  everyTick(goesOn: () => boolean): void;
}

export function createTimers(
  timeline: Timeline,
  everyMs: Readonly<Record<TimerName, number>>,
  fire: (name: TimerName) => void,
): Timers {
  const due = new Map(timerNames.map((name) => [name, new Map<string, number>()]));
  const armed = new Map<TimerName, Event>();

  function dueOf(name: TimerName): Map<string, number> {
    const found = due.get(name);
    if (found === undefined) throw new Error(`there is no timer ${name}`);
    return found;
  }

  /** The first tick of the schedule at this time or later, and later than now. */
  function tickAt(name: TimerName, time: number): number {
    const every = everyMs[name];
    const next = (Math.floor(timeline.now / every) + 1) * every;
    return Math.max(next, Math.ceil(time / every) * every);
  }

  function arm(name: TimerName, time: number): void {
    const at = tickAt(name, time);
    const before = armed.get(name);
    if (before?.fire !== undefined && before.time <= at) return;
    if (before !== undefined) before.fire = undefined;
    const event = timeline.events.add(at, () => {
      event.fire = undefined;
      timeline.running = undefined;
      fire(name);
      again(name);
    });
    armed.set(name, event);
  }

  function again(name: TimerName): void {
    let first = Number.POSITIVE_INFINITY;
    for (const time of dueOf(name).values()) if (time < first) first = time;
    if (first < Number.POSITIVE_INFINITY) arm(name, first);
  }

  return {
    wrote(document) {
      for (const name of timerNames) {
        const at = document[fieldOf[name]];
        if (typeof at === 'string') {
          const time = Date.parse(at);
          dueOf(name).set(document.id, time);
          arm(name, time);
        } else dueOf(name).delete(document.id);
      }
    },
    forgot(id) {
      for (const name of timerNames) dueOf(name).delete(id);
    },
    wait(name, what, from = timeline.now) {
      dueOf(name).set(what, from);
      arm(name, from);
    },
    found(name, what, since) {
      const waits = dueOf(name).get(what) ?? Number.POSITIVE_INFINITY;
      if (waits <= since) dueOf(name).delete(what);
    },
    due: dueOf,
    everyTick(goesOn) {
      for (const name of timerNames) tick(name);

      function tick(name: TimerName): void {
        arm(name, timeline.now);
        timeline.events.add(tickAt(name, timeline.now), () => {
          if (goesOn()) tick(name);
        });
      }
    },
  };
}
