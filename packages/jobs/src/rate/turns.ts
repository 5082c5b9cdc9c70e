/**
 * The calls of one process that wait for their turn, the slots it has reserved for them, and which call goes when. No I/O
 * and no timers of its own: pacer.ts reserves the slots and says when to look.
 */
import type { Clock } from '@payonce/leases/clock';
import type { SharedClock, Slot } from './schedule.ts';

/** A slot that is this late, in milliseconds, is dropped: after a stall, a burst would exceed the rate. */
const tooLateMs = 300;

/** Rate at which slots that are late are used up, as a multiple of the pace. */
const catchUpFactor = 1.4;

/** Slots that may go at once, as a share of a second's: timers are late by a millisecond or two. */
const burstShare = 0.02;

/** The right to make one call now. Say once what became of it. */
export interface Turn {
  /** The provider answered, whatever it said. */
  answered(): void;
  /** The provider refused the call, because there are too many. `retryAfterMs`: when it wants the next one. */
  refused(retryAfterMs?: number): void;
  /** No call was made. The next in line has the slot. */
  unused(): void;
}

/** The end of a call, for the report to the shared schedule. */
export type CallEnd =
  | { kind: 'answered'; epoch: number }
  /** `holdUntil`: on the shared clock; 0 if the provider did not say. */
  | { kind: 'refused'; epoch: number; holdUntil: number };

/** Priority: refused calls go first, then those in line. `last` has what they leave, but one turn in 25 at least. */
export type Place = 'first' | 'inLine' | 'last';

const lastEvery = 25;

interface Waiter {
  resolve: (turn: Turn | undefined) => void;
  /** On the monotonic clock, in milliseconds. */
  before: number;
  since: number;
}

export type CallTurns = ReturnType<typeof createTurns>;

/** `mayGo` is asked right before turns are given. */
export function createTurns(
  { clock, shared, mayGo = () => true }: { clock: Clock; shared: SharedClock; mayGo?: () => boolean },
  { onEnd, onTurn }: { onEnd: (end: CallEnd) => void; onTurn: (waitedMs: number) => void },
) {
  const flow = createFlow(clock);
  const lines: Record<Place, Waiter[]> = { first: [], inLine: [], last: [] };
  let sinceLast = 0;
  const slots: Slot[] = [];
  let pace = 1;
  let credit = 1;
  let creditAt = clock.monotonic();

  return {
    /** Resolves with the call's turn, or undefined if it has none before `before` (monotonic). */
    wait(before: number, place: Place): Promise<Turn | undefined> {
      return new Promise((resolve) => {
        lines[place].push({ resolve, before, since: clock.monotonic() });
        go();
      });
    },
    add(granted: readonly Slot[]): void {
      slots.push(...granted);
      go();
    },
    /** Gives turns to those whose slots have come, at this pace. Returns how long until the next one (ms). */
    go(at: number): number | undefined {
      pace = at;
      go();
      const [next] = slots;
      if (next === undefined || !mayGo() || Object.values(lines).every((line) => line.length === 0))
        return undefined;
      return Math.max(1, next.at - shared.now());
    },
    /** Ends the wait of those whose time is over; of all of them, if `all`. */
    expire(all = false): void {
      const now = clock.monotonic();
      for (const line of Object.values(lines)) {
        const over = line.filter(({ before }) => all || before <= now);
        if (over.length === 0) continue;
        line.splice(0, line.length, ...line.filter((waiter) => !over.includes(waiter)));
        for (const { resolve } of over) resolve(undefined);
      }
    },
    /** Slots before this time (shared clock) are not to be used. */
    dropBefore(time: number): void {
      slots.splice(0, slots.length, ...slots.filter(({ at }) => at >= time));
    },
    get waiting() {
      return lines.first.length + lines.inLine.length + lines.last.length;
    },
    /** The reserved slots that are left, in order. */
    slots: slots as readonly Slot[],
    /** Turns per second of this process lately; undefined if there were none. */
    rate: flow.rate,
  };

  function go(): void {
    if (!mayGo()) return;
    const now = shared.now();
    const at = clock.monotonic();
    const earned = ((at - creditAt) * pace * catchUpFactor) / 1000;
    credit = Math.min(Math.max(1, pace * burstShare), credit + earned);
    creditAt = at;
    let used = 0;
    for (const slot of slots) {
      if (slot.at > now) break;
      if (slot.at >= now - tooLateMs) {
        if (credit < 1 || !flow.hasRoom(pace)) break;
        const waited = ++sinceLast >= lastEvery ? lines.last.shift() : undefined;
        const waiter = waited ?? lines.first.shift() ?? lines.inLine.shift() ?? lines.last.shift();
        if (waited !== undefined || lines.last.length === 0) sinceLast = 0;
        if (waiter === undefined) break;
        credit--;
        give(waiter, slot);
      }
      used++;
    }
    if (used > 0) slots.splice(0, used);
  }

  function give({ resolve, since }: Waiter, slot: Slot): void {
    onTurn(clock.monotonic() - since);
    const ended = flow.begin();
    let open = true;
    const end = (answered: boolean, report: () => void) => {
      if (!open) return;
      open = false;
      ended(answered);
      report();
      go();
    };
    resolve({
      answered: () => end(true, () => onEnd({ kind: 'answered', epoch: slot.epoch })),
      refused: (retryAfterMs = 0) => {
        const holdUntil = retryAfterMs > 0 ? shared.now() + retryAfterMs : 0;
        end(false, () => onEnd({ kind: 'refused', epoch: slot.epoch, holdUntil }));
      },
      unused: () =>
        end(false, () => {
          slots.unshift(slot);
          credit++;
        }),
    });
  }
}

/** Calls that may always be in flight at the same time. */
const fewestInFlight = 64;

/** Bound of calls in flight, as a multiple of what the pace of all instances and the usual latency explain (Little's law). */
const inFlightFactor = 4;

/** Weight of the newest call in the usual latency, and of the newest second in the rate. */
const weights = { latency: 0.01, rate: 0.3 };

/** After this long without a call, in milliseconds, the rate says nothing any more. */
const forgottenMs = 5_000;

/** The calls of one process: how many are in flight, how many begin in a second, and how long they usually take. */
function createFlow(clock: Clock) {
  let inFlight = 0;
  let usualMs: number | undefined;
  let rate: number | undefined;
  let second = { from: clock.monotonic(), calls: 0 };
  let lastCall = clock.monotonic();

  return {
    /** True if one more call may begin at this pace (calls per second): they must not pile up at a provider that slows down. */
    hasRoom(pace: number): boolean {
      if (usualMs === undefined) return true;
      return inFlight < Math.max(fewestInFlight, (inFlightFactor * pace * usualMs) / 1000);
    },
    /** A call begins. The result is called when it ends; `answered` if its time says something about the provider. */
    begin() {
      const began = clock.monotonic();
      measure();
      lastCall = began;
      second.calls++;
      inFlight++;
      return (answered: boolean) => {
        inFlight--;
        const ms = clock.monotonic() - began;
        if (answered) usualMs = usualMs === undefined ? ms : mix(usualMs, ms, weights.latency);
      };
    },
    rate: measure,
  };

  /** Calls per second lately; undefined if there were none, or none for long enough. */
  function measure(): number | undefined {
    const now = clock.monotonic();
    if (now - lastCall > forgottenMs) {
      rate = undefined;
      second = { from: now, calls: 0 };
    }
    const seconds = (now - second.from) / 1000;
    if (seconds < 1) return rate;
    const newest = second.calls / seconds;
    rate = rate === undefined ? newest : mix(rate, newest, weights.rate);
    second = { from: now, calls: 0 };
    return rate;
  }
}

/** The usual value, moved towards the newest by `weight` (0 to 1). */
export function mix(usual: number, newest: number, weight: number): number {
  return usual * (1 - weight) + newest * weight;
}
