import { metric } from '../../../src/platform/appMetrics.ts';
import { alertRules, firing, type Report } from '../../support/alertRules.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { OutageSeen } from './judgeOutage.ts';
import { beginsMs, chargesPerSecond, minute, patienceMs, shardGroups } from './outageCell.ts';

/** For so long alerts are evaluated, every minute as the urgent ones are (milliseconds). */
const lookForMs = 20 * minute;
/** No alert looks further back (milliseconds). */
const longestWindowMs = 61 * minute;

/**
 * Time in which the work after the last payment is done (ms): a work item waits for its next try up to 12
 * minutes.
 */
const followUpsMs = 30 * minute;

/** Watches the fleet from the first event to the last. Its timers tick until everything is paid. */
export function watchOutage(fleet: Fleet, lastsMs: number): () => OutageSeen {
  const { world, timers } = fleet;
  const { timeline } = world;
  const startedAt = timeline.now;
  const endsAt = startedAt + beginsMs + lastsMs;
  const rules = alertRules({ shardGroups, paymentRate: chargesPerSecond });
  const fired: Record<string, number> = {};
  let reports: Report[] = [];
  let early: string[] = [];
  let backlog = 0;
  let parked = 0;
  let over = false;
  let gaveUp: Record<string, number> = {};

  world.onReport = (report) => {
    if (report.name === metric.invoiceParked) parked += report.value;
    if (timeline.now < startedAt + beginsMs + lookForMs) reports.push(report);
  };
  timers.everyTick(() => !over);
  fleet.later(beginsMs - 1, () => {
    early = firingNow();
  });
  for (let ms = minute; ms <= Math.min(lastsMs, lookForMs); ms += minute) {
    fleet.later(beginsMs + ms, () => {
      for (const name of firingNow()) fired[name] ??= ms / minute;
    });
  }
  fleet.later(beginsMs + lastsMs, () => {
    backlog = unpaid();
    look();
  });
  return () => {
    const invoices = [...world.invoices.values()];
    const [lookedUp, others] = [true, false].map((wasLookedUp) =>
      invoices.filter(({ timeline: entries }) => entries.some(isSecondLookUp) === wasLookedUp),
    );
    return {
      early,
      fired,
      backlog,
      unpaid: unpaid(),
      idealMinutes: backlog / chargesPerSecond / 60,
      paidAfterMinutes: minutesUntilPaid(others ?? []),
      lookedUp: lookedUp?.length ?? 0,
      lookedUpAfterMinutes: minutesUntilPaid(lookedUp ?? []),
      gaveUp,
    };
  };

  function firingNow(): string[] {
    const { now } = timeline;
    reports = reports.filter(({ at }) => at > now - longestWindowMs);
    return [...firing(rules, reports, now).keys()];
  }

  function unpaid(): number {
    return [...world.invoices.values()].filter(({ status }) => status !== 'paid').length;
  }

  function look(): void {
    if (unpaid() > 0 && timeline.now < endsAt + patienceMs) fleet.later(minute, look);
    else fleet.later(followUpsMs, end);
  }

  /** Before anybody does what an alert asks for. */
  function end(): void {
    over = true;
    gaveUp = {
      'invoices parked': parked,
      'dead letters': world.queues.commands.deadLetters.length,
      'poison items': world.poison.all().length + world.lost.length,
      'messages parked': world.parkedMessages().length,
    };
  }

  /** From the end of the outage until the last of these was paid; 0 if that was before. */
  function minutesUntilPaid(
    invoices: readonly { timeline: readonly { at: string; what: string }[] }[],
  ): number {
    const times = invoices.flatMap(({ timeline: entries }) =>
      entries.filter(({ what }) => what === 'paid').map(({ at }) => Date.parse(at)),
    );
    return Math.max(0, ...times.map((time) => (time - endsAt) / minute));
  }
}

/** Its key had grown too old, and the provider was asked twice, an hour apart, before it was charged. */
function isSecondLookUp({ reason }: { reason?: unknown; [more: string]: unknown }): boolean {
  return typeof reason === 'string' && reason.includes('it is asked again in an hour');
}
