// Each service away for a minute and for twenty, on a local cloud with a fast clock: what is due is paid afterwards without
// anybody's help, nothing is parked, and the query of the right alert would have fired within ten minutes.
import { describe, expect, test } from 'vitest';
import { alertRules, firing } from '../support/alertRules.ts';
import { outageWorld, type Service } from '../support/outageWorld.ts';
import { until } from '../support/until.ts';

const minute = 60_000;
const rules = alertRules();
/** Twenty minutes take one. A claim goes stale after 15 s then, so a busy machine has time to pay it. */
const factor = 20;

/** When the alert's query first yields a row, in minutes after `from`; undefined if it does not until `end`. */
function firesAfter(
  alert: string,
  reports: Parameters<typeof firing>[1],
  { from, end }: { from: number; end: number },
): number | undefined {
  for (let now = from; now <= end; now += minute / 2) {
    if (firing(rules, reports, now).has(alert)) return (now - from) / minute;
  }
  return undefined;
}

describe.concurrent.each<[Service, string]>([
  ['cosmos', 'due-unpaid'],
  ['serviceBus', 'outbox-old'],
  ['storage', 'due-unpaid'],
  ['provider', 'breaker-open'],
])('%s is away', (service, alert) => {
  test(`for 1 and 20 minutes: all is paid afterwards, nothing is parked, and ${alert} fires`, async () => {
    await using world = await outageWorld(factor);
    const { clock, reports } = world;
    const paid = async (ids: readonly string[]) =>
      until(
        () => world.statuses(ids),
        (statuses) => statuses.every((status) => status === 'paid'),
        { withinMs: 240_000 },
      );
    const all: string[] = [];

    async function outage(minutes: number): Promise<{ from: number; end: number }> {
      const ids = await world.importInvoices(minutes + 5);
      all.push(...ids);
      await clock.sleep(2 * minute);
      const from = clock.now();
      world.takeAway(service);
      await clock.sleep(minutes * minute);
      const end = clock.now();
      world.bringBack(service);
      await paid(ids);
      return { from, end };
    }

    await outage(1);
    const quiet = clock.now();
    const long = await outage(20);
    expect(
      firing(
        rules,
        reports.filter(({ at }) => at > quiet),
        long.from,
      ).has(alert),
    ).toBe(false);
    const fired = firesAfter(
      alert,
      reports.filter(({ at }) => at > quiet),
      long,
    );
    expect(fired).toBeLessThanOrEqual(10);

    await until(
      () => world.receipts(),
      (receipts) => all.every((id) => receipts.includes(id)),
      { withinMs: 60_000 },
    );
    expect(await world.parked()).toEqual({ invoices: 0, messages: 0, poison: 0 });
    const charges = await world.charges();
    expect(all.map((id) => charges.get(id))).toEqual(all.map(() => 1));
  }, 600_000);
});

test('a revoked key is known within five minutes, although no payment is due', async () => {
  await using world = await outageWorld(factor, { STRIPE_SECRET_KEY: 'sk_test_revoked' });
  const from = world.clock.now();
  await world.clock.sleep(6 * minute);
  const minutes = { from, end: from + 5 * minute };
  expect(firesAfter('key-rejected', world.reports, minutes)).toBeLessThanOrEqual(5);
  expect(firesAfter('breaker-open', world.reports, minutes)).toBeUndefined();
}, 120_000);
