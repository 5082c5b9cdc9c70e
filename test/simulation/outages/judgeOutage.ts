import { z } from 'zod';
import type { AwayService, OutageCell } from './outageCell.ts';

/** Observations of one outage. */
export const outageSeenSchema = z.object({
  /** Alerts that fired although nothing was wrong yet. */
  early: z.array(z.string()),
  /** Alerts that fired while it lasted, and after how many minutes. */
  fired: z.record(z.string(), z.number()),
  /** Invoices that were not paid when it ended, and in the end. */
  backlog: z.int(),
  unpaid: z.int(),
  /** Time that the backlog takes at the provider's allowance (minutes). */
  idealMinutes: z.number(),
  /** From the end of the outage until all were paid that needed no second look-up. */
  paidAfterMinutes: z.number(),
  /** Invoices whose key had grown too old meanwhile, so that they were looked up twice, and until the last was paid. */
  lookedUp: z.int(),
  lookedUpAfterMinutes: z.number(),
  gaveUp: z.record(z.string(), z.int()),
});
export type OutageSeen = z.infer<typeof outageSeenSchema>;

/** The alert that says what is wrong (docs/operations.md). */
export const rightAlert: Readonly<Record<AwayService, string>> = {
  cosmos: 'due-unpaid',
  serviceBus: 'outbox-old',
  storage: 'due-unpaid',
  provider: 'breaker-open',
};

const alertWithinMinutes = 10;
/** An invoice waits for its next try up to 15 minutes, for the next run up to five, and for a claim to go stale five. */
const waitsMinutes = 25;
/** The pace may fall short of the allowance by this share, as claims and calls get going again. */
const slack = 1.1;
/** Between two look-ups, and for the runs before and after. */
const lookUpMinutes = 70;

/** The longest that the backlog may take after the end of the outage, in minutes. */
export function bar({ idealMinutes }: Pick<OutageSeen, 'idealMinutes'>): number {
  return slack * idealMinutes + waitsMinutes;
}

/** The soonest of the right alerts, in minutes; undefined if none fired. */
export function firstAlert({ away }: Pick<OutageCell, 'away'>, { fired }: OutageSeen): number | undefined {
  const minutes = away.map((service) => fired[rightAlert[service]]).filter((one) => one !== undefined);
  return minutes.length === 0 ? undefined : Math.min(...minutes);
}

/** Lists what went wrong with an outage; empty if nothing did. */
export function judgeOutage(cell: OutageCell, seen: OutageSeen): string[] {
  const wrong: string[] = [];
  const { early, unpaid, paidAfterMinutes, lookedUp, lookedUpAfterMinutes, gaveUp } = seen;
  if (early.length > 0) wrong.push(`fired before it began: ${early.join(', ')}`);
  if (cell.minutes >= alertWithinMinutes && (firstAlert(cell, seen) ?? Infinity) > alertWithinMinutes)
    wrong.push(`no right alert within ${alertWithinMinutes} minutes: ${JSON.stringify(seen.fired)}`);
  if (unpaid > 0) wrong.push(`${unpaid} invoices are not paid`);
  for (const [what, count] of Object.entries(gaveUp)) if (count > 0) wrong.push(`${count} ${what}`);
  if (paidAfterMinutes > bar(seen))
    wrong.push(`paid after ${paidAfterMinutes.toFixed(1)} minutes, more than ${bar(seen).toFixed(1)}`);
  if (lookedUp > 0 && lookedUpAfterMinutes > bar(seen) + lookUpMinutes)
    wrong.push(`looked up and paid after ${lookedUpAfterMinutes.toFixed(1)} minutes`);
  return wrong;
}
