import type { FleetCampaign } from './campaign.ts';
import { chaosSchedule, stopSchedule } from './schedule.ts';
import { type BulkSize, bulkShards } from './seedBulk.ts';
import { leaseSeconds, longestDelayMs } from './stops.ts';

/** Most can be paid. The rest get a soft or a hard decline, or their first call fails. */
const paymentMethods = [
  ...Array.from({ length: 40 }, () => 'pm_card_visa'),
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_chargeDeclinedExpiredCard',
  'pm_local_timeoutBeforeChargeOnce',
  'pm_local_timeoutAfterChargeOnce',
  'pm_local_resetAfterChargeOnce',
  'pm_local_serverErrorAfterChargeOnce',
  'pm_local_rateLimitOnce',
];

interface Common {
  seed: number;
  hosts: number;
  drainMs?: number;
}

/** Hosts are killed, stopped and paused while every service fails. */
export function chaos({
  minutes,
  locks,
  invoices = Math.round(500 * minutes),
  ...common
}: Common & { minutes: number; invoices?: number; locks?: string }): FleetCampaign {
  const durationMs = minutes * 60_000;
  const { seed, hosts } = common;
  return {
    drainMs: 120_000,
    ...common,
    durationMs,
    mishaps: chaosSchedule({ seed, durationMs, hosts, lockServer: locks !== undefined }),
    invoices,
    paymentMethods,
    ...(locks === undefined ? {} : { locks }),
    // The worst lag that Stripe documents (https://docs.stripe.com/search#data-freshness).
    searchLagMs: 60_000,
    env: {
      INVOICE_SCHEDULE: '*/2 * * * * *',
      OUTBOX_SCHEDULE: '*/3 * * * * *',
      LEASE_SECONDS: `${leaseSeconds}`,
      CLAIM_STALE_SECONDS: '20',
      PAYMENT_TIMEOUT_SECONDS: '4',
    },
  };
}

/** Hosts are stopped as Azure stops them, or killed, under load. */
export function shutdown({
  minutes,
  stops,
  kills = 0,
  invoices,
  ...common
}: Common & { minutes: number; stops: number; kills?: number; invoices: number }): FleetCampaign {
  const durationMs = minutes * 60_000;
  return {
    drainMs: longestDelayMs + 60_000,
    ...common,
    durationMs,
    mishaps: stopSchedule({ ...common, durationMs, stops, kills }),
    invoices,
    paymentMethods: ['pm_card_visa'],
    manualRuns: true,
    env: {
      INVOICE_SCHEDULE: '*/3 * * * * *',
      OUTBOX_SCHEDULE: '*/5 * * * * *',
      LEASE_SECONDS: `${leaseSeconds}`,
    },
  };
}

/** Bulk runs of thousands go on while hosts are killed. */
export function bulk({
  kills,
  killEveryMs = 5_000,
  size,
  ...common
}: Common & { kills: number; killEveryMs?: number; size: BulkSize }): FleetCampaign {
  const durationMs = kills * killEveryMs;
  return {
    drainMs: 20 * 60_000,
    ...common,
    durationMs,
    mishaps: stopSchedule({ ...common, durationMs, stops: kills, kills }),
    invoices: 0,
    paymentMethods: [],
    bulk: size,
    env: {
      SHARDS: `${bulkShards}`,
      SHARD_GROUPS: '2',
      LEASE_SECONDS: `${leaseSeconds}`,
      PAYMENT_RATE: '400',
      INVOICE_SCHEDULE: '*/2 * * * * *',
      OUTBOX_SCHEDULE: '*/2 * * * * *',
    },
  };
}
