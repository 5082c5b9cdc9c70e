import { metric } from '../../../src/platform/appMetrics.ts';
import { alertRules, firing, type Report } from '../../support/alertRules.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { beginsMs, chargesPerSecond, minute, patienceMs, shardGroups } from './outageCell.ts';

/** What was seen of one outage. Times are in minutes. */
export interface OutageSeen {
  /** Alerts that fired although nothing was wrong yet. */
  early: string[];
  /** Alerts that fired while it lasted, and how soon. */
  fired: Record<string, number>;
  /** Invoices that were due and not paid when it ended. */
  backlog: number;
  /** Until all of them were paid; absent if that did not happen. */
  paidAfter?: number;
  /** What the provider's allowance would take for them. */
  ideal: number;
  /** Most calls that were charged in a minute, and how often a full minute of the drain had at least nine tenths of it. */
  parked: number;
  deadLetters: number;
  poison: number;
  parkedMessages: number;
}

/** Alerts are evaluated every minute, as the urgent ones are, for so long (milliseconds). */
const lookForMs = 20 * minute;
/** No alert looks further back (milliseconds). */
const longestWindowMs = 61 * minute;

/** Watches the fleet from the first event to the last. `fleet` goes on ticking until everything was paid for an hour. */
export function watchOutage(fleet: Fleet, lastsMs: number): () => OutageSeen {
  const { world } = fleet;
  const { timeline } = world;
  const startedAt = timeline.now;
  const endsAt = startedAt + beginsMs + lastsMs;
  const rules = alertRules({ shardGroups, paymentRate: chargesPerSecond });
  let reports: Report[] = [];
  const seen: OutageSeen = {
    early: [],
    fired: {},
    backlog: 0,
    ideal: 0,
    parked: 0,
    deadLetters: 0,
    poison: 0,
    parkedMessages: 0,
  };
  let over = false;

  world.onReport = (report) => {
    if (report.name === metric.invoiceParked) seen.parked += report.value;
    if (timeline.now < startedAt + beginsMs + lookForMs) reports.push(report);
  };
  fleet.timers.everyTick(() => !over);
  fleet.later(beginsMs - 1, () => {
    seen.early = firingNow();
  });
  for (let ms = minute; ms <= Math.min(lastsMs, lookForMs); ms += minute) {
    fleet.later(beginsMs + ms, () => {
      for (const name of firingNow()) seen.fired[name] ??= ms / minute;
    });
  }
  fleet.later(beginsMs + lastsMs, () => {
    seen.backlog = unpaid();
    seen.ideal = seen.backlog / chargesPerSecond / 60;
    look();
  });
  return () => ({
    ...seen,
    deadLetters: world.queues.commands.deadLetters.length,
    poison: world.poison.all().length + world.lost.length,
    parkedMessages: world.parkedMessages().length,
  });

  function firingNow(): string[] {
    const { now } = timeline;
    reports = reports.filter(({ at }) => at > now - longestWindowMs);
    return [...firing(rules, reports, now).keys()];
  }

  function unpaid(): number {
    return [...world.invoices.values()].filter(({ status }) => status !== 'paid').length;
  }

  function look(): void {
    if (unpaid() === 0) seen.paidAfter = (timeline.now - endsAt) / minute;
    over = seen.paidAfter !== undefined || timeline.now > endsAt + patienceMs;
    if (!over) fleet.later(minute / 4, look);
  }
}
