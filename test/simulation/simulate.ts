/** Runs one schedule to its end. */
import { readSettings } from '../../src/settings/readSettings.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { eventQueue } from './engine/eventQueue.ts';
import { realImmediate, useSource } from './engine/globals.ts';
import type { Timeline } from './engine/machine.ts';
import type { Fleet } from './fleet/fleet.ts';
import { createStory } from './fleet/story.ts';
import { createHistory, type History } from './history.ts';
import type { Invariant, Violation } from './invariants/violation.ts';
import { createConditions } from './plan/conditions.ts';
import { hour, type Plan, randomOf } from './plan/plan.ts';

export interface SimulationOptions {
  /** Keep the history in words. */
  trace?: boolean;
  /** Invariants that are not looked at: what is known to be open. */
  except?: ReadonlySet<Invariant>;
  /** Called before the first event, with the fleet. */
  observe?: (fleet: Fleet) => void;
  /** More events than this are a circle. Default: three million. */
  mostEvents?: number;
}

export interface Simulated {
  plan: Plan;
  violation: Violation | undefined;
  history: History;
  /** Number of times that each kind of fault occurred. */
  met: ReadonlyMap<string, number>;
  counters: ReadonlyMap<string, number>;
  /** Simulated milliseconds until nothing was left to do. */
  lastedMs: number;
  events: number;
}

const startedAt = Date.parse('2026-03-02T08:00:00.000Z');
/** Nothing that an invoice waits for takes longer: three soft declines and payments of ten days. */
const longestMs = 90 * 24 * hour;
/** A schedule with more events than this runs in a circle. */
const usuallyMostEvents = 3_000_000;
/** Events that are handled in one turn of the event loop. */
const eventsPerTurn = 64;

const settings = readSettings({
  AzureWebJobsStorage: 'UseDevelopmentStorage=true',
  Cosmos: 'AccountEndpoint=https://localhost:8081/;AccountKey=c2ltdWxhdGlvbg==',
  ServiceBus: 'Endpoint=sb://localhost;SharedAccessKeyName=all;SharedAccessKey=c2ltdWxhdGlvbg==',
  STRIPE_SECRET_KEY: 'sk_test_simulation',
  NOTIFY_WEBHOOK_URL: 'https://example.com/hook',
  NOTIFY_WEBHOOK_SECRET: 'whsec_c2ltdWxhdGlvbi1zZWNyZXQtb2YtMzItYnl0ZXMh',
  INSTANCE_ID: 'simulation',
});

export function settingsOf(plan: Plan): Settings {
  const { shards, shardGroups, batchSize, claimStaleSeconds, paymentTimeoutSeconds, rate, notifies } = plan;
  return {
    ...settings,
    shards,
    shardGroups,
    batchSize,
    claimStaleSeconds,
    paymentTimeoutSeconds,
    allowance: { rate, accountRate: Math.max(rate, 25) },
    notify: notifies ? settings.notify : undefined,
  };
}

/** The same plan always has the same history, on every machine. */
export async function simulate(plan: Plan, options: SimulationOptions = {}): Promise<Simulated> {
  const { mostEvents = usuallyMostEvents } = options;
  const timeline: Timeline = { events: eventQueue(), now: startedAt, running: undefined };
  const history = createHistory(startedAt, options.trace ?? false);
  let violation: Violation | undefined;
  const conditions = createConditions({
    timeline,
    seed: plan.seed,
    loseLeases: () => story.loseLeases(),
    hang: (machine, ms, frozen) => story.hang(machine, ms, frozen),
  });
  const story = createStory({
    plan,
    settings: settingsOf(plan),
    timeline,
    startedAt,
    history,
    conditions,
    report(invariant, what, invoiceId) {
      if (options.except?.has(invariant) === true) return;
      violation ??= {
        invariant,
        what,
        at: timeline.now - startedAt,
        ...(invoiceId === undefined ? {} : { invoiceId }),
      };
    },
  });
  useSource({
    random: randomOf(plan.seed, 'app'),
    now: () => timeline.running?.clock.now() ?? timeline.now,
    monotonic: () => timeline.running?.clock.monotonic() ?? timeline.now - startedAt,
    timeout(ms) {
      const controller = new AbortController();
      later(ms, () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')));
      return controller.signal;
    },
    soon: (run) => later(0, run),
    fetch: (_url, init) => story.receive(init, timeline.running),
    reached(what) {
      violation ??= { invariant: 'deterministic', what, at: timeline.now - startedAt };
    },
  });
  let events = 0;
  /** It would crash the process. */
  const unhandled = (error: unknown) => {
    const what = `a rejection that nobody handles: ${String(error)}`;
    violation ??= { invariant: 'no bug', what, at: timeline.now - startedAt };
  };
  process.on('unhandledRejection', unhandled);
  try {
    options.observe?.(story.fleet);
    story.begin();
    await drive(step);
  } finally {
    process.off('unhandledRejection', unhandled);
    useSource(undefined);
  }
  return {
    plan,
    violation,
    history,
    met: conditions.met,
    counters: story.world.counters,
    lastedMs: timeline.now - startedAt,
    events,
  };

  /** Calls it after `ms` milliseconds, on the machine whose code runs. */
  function later(ms: number, run: () => void): void {
    if (timeline.running === undefined) timeline.events.add(timeline.now + ms, run);
    else timeline.running.later(ms, run);
  }

  /** False: nothing happens any more. */
  function step(): boolean {
    if (violation !== undefined) return false;
    const event = timeline.events.take();
    if (event?.fire === undefined) return story.wrapUp();
    if (++events > mostEvents || event.time - startedAt > longestMs) {
      const after = events > mostEvents ? `${mostEvents} events` : 'ninety days';
      violation = {
        invariant: 'makes progress',
        what: `still busy after ${after}`,
        at: timeline.now - startedAt,
      };
      return false;
    }
    timeline.now = Math.max(timeline.now, event.time);
    const { fire } = event;
    event.fire = undefined;
    fire();
    return true;
  }
}

/**
 * Takes step after step. Between two steps everything that can happen without time passing has happened: Node runs all
 * microtasks after each immediate, and nothing here waits for anything else.
 */
function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    let left = 0;
    const turn = () => {
      left--;
      if (over) return;
      try {
        over = !step();
      } catch (error) {
        over = true;
        reject(error);
        return;
      }
      if (over) resolve();
      else if (left === 0) queue();
    };
    const queue = () => {
      left = eventsPerTurn;
      for (let n = 0; n < eventsPerTurn; n++) realImmediate(turn);
    };
    queue();
  });
}
