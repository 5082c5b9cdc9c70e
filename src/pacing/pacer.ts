import type { Clock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { metric } from '../platform/telemetry.ts';
import type { Gate, PauseWatch } from './pause.ts';
import { type PaceStore, sharedClock } from './schedule.ts';
import { createSupply } from './supply.ts';
import { createTurns, type Place, type Turn } from './turns.ts';

interface PacerPolicy {
  /** The name of the schedule. */
  limit: string;
  /** Calls per second of all instances together: a ceiling, below which the pace follows what the provider takes. */
  ceiling: number;
}

/** Hands out turns to make calls, such that all instances together keep to the rate. */
export interface Pacer {
  /**
   * The turn of a call; undefined if it has none before `before` (monotonic milliseconds), calls are paused, or the process
   * stops.
   */
  turn(before: number, place?: Place): Promise<Turn | undefined>;
  /**
   * Lets work with this many calls in when few others wait, in the order in which it was asked, so that work is begun
   * shortly before its calls can be made. Undefined as for `turn`.
   */
  admit(calls: number, before: number): Promise<Admission | undefined>;
}

/** Work is let in while fewer calls wait than this process makes in this time, in milliseconds. */
const leadMs = 2_000;

/** How often waits are looked through, in milliseconds. */
const lookEveryMs = 50;

export interface PacerParts {
  store: PaceStore;
  instance: Instance;
  stopping?: AbortSignal;
  /** While calls are paused, nothing gets a turn or is let in. While that is not known, everything waits. */
  pause?: Pick<PauseWatch, 'gate'>;
}

export function createPacer(
  { store, instance, stopping, pause: { gate } = alwaysOpen }: PacerParts,
  policy: PacerPolicy,
): Pacer {
  const { clock, telemetry } = instance;
  const { limit } = policy;
  const shared = sharedClock(clock);
  const turns = createTurns(
    { clock, shared, mayGo: () => door() === 'open' },
    {
      onTurn: (waitedMs) => telemetry.record(metric.paceWaitedMs, waitedMs, { limit }),
      onEnd(end) {
        telemetry.count(metric.paceCalls, { limit, result: end.kind });
        supply.report(end);
      },
    },
  );
  const admissions = createAdmissions(clock);
  const supply = createSupply({ store, shared, turns, instance }, policy, {
    waiting: () => turns.waiting + admissions.calls,
    ahead: () => turns.waiting + admissions.calls + admissions.waitingCalls,
    onSlots: wake,
  });
  let running = false;
  let woken = Promise.withResolvers<void>();

  return {
    turn(before, place = 'inLine') {
      if (door() === 'paused') return Promise.resolve(undefined);
      const turn = turns.wait(before, place);
      start();
      return turn;
    },
    admit(calls, before) {
      if (door() === 'paused') return Promise.resolve(undefined);
      const admission = admissions.wait(calls, before);
      letIn();
      start();
      return admission;
    },
  };

  /** The one gate of all calls to the provider: a process that stops makes none, as in a pause. */
  function door(): Gate {
    return stopping?.aborted === true ? 'paused' : gate();
  }

  /** Runs while anything waits. */
  function start(): void {
    if (running) return;
    running = true;
    void run();
  }

  async function run(): Promise<void> {
    let lookedAt = Number.NEGATIVE_INFINITY;
    while (turns.waiting > 0 || admissions.waiting > 0 || admissions.calls > 0) {
      if (door() === 'paused') {
        turns.expire(true);
        admissions.end();
        if (stopping?.aborted === true) break;
      }
      if (clock.monotonic() - lookedAt >= lookEveryMs) {
        lookedAt = clock.monotonic();
        turns.expire();
        letIn();
      }
      const nextMs = turns.go(supply.pace());
      supply.reserveMore();
      await Promise.race([clock.sleep(Math.min(nextMs ?? lookEveryMs, lookEveryMs)), woken.promise]);
    }
    running = false;
  }

  function wake(): void {
    woken.resolve();
    woken = Promise.withResolvers();
  }

  function letIn(): void {
    admissions.go(() => {
      if (door() !== 'open') return false;
      const ahead = turns.waiting + admissions.calls;
      return ahead === 0 || ahead < ((turns.rate ?? supply.pace()) * leadMs) / 1000;
    });
  }
}

const alwaysOpen: Pick<PauseWatch, 'gate'> = { gate: () => 'open' };

/** Work that was let in: while it is open, its calls count as waiting. */
export interface Admission extends Disposable {
  readonly calls: number;
}

/** Work that waits to be begun until its calls can be made soon, in the order in which it came. */
interface Admissions {
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

function createAdmissions(clock: Clock): Admissions {
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
