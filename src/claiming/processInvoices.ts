import { FencedOut } from '@payonce/jobs/claims';
import type { Instance } from '@payonce/jobs/instance';
import type { PaceStore, PauseWatch, Schedule } from '@payonce/jobs/rate';
import { defineJob, Idle, type Job, type RunCounts } from '@payonce/jobs/runs';
import { LeaseLost } from '@payonce/leases';
import type { Clock } from '@payonce/leases/clock';
import { errorText } from '@payonce/leases/error-text';
import type { FollowUps } from '../invoice/followUps.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { shardsOfGroup } from '../invoice/shard.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import { jobNames, paceLimits } from '../platform/azureNames.ts';
import { claimBatch } from './claimBatch.ts';
import { previewClaims, unlimitedRoom } from './dryRun.ts';

/** Batches in one page of due invoices: more means fewer queries and slightly older data. */
const batchesPerPage = 4;

export interface ClaimingPolicy extends RoomPolicy {
  shards: number;
}

export interface ProcessInvoicesParts {
  invoices: Pick<InvoiceStore, 'due' | 'claim' | 'openClaims'>;
  /** The schedule of the payments, by which the claims keep to what can be paid soon. */
  pace: PaceStore;
  /** While payments are paused nothing is claimed. */
  pause: Pick<PauseWatch, 'look' | 'gate'>;
  followUps: FollowUps;
  instance: Instance;
  /** Asked before anything is planned. @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
}

/** A claim took so long that a pause may have begun before it could be sent. */
class MaybePaused extends Error {
  override readonly name = 'MaybePaused';
}

/** The job that claims every due invoice and orders its payment through the outbox. The consumer pays it (paying/). */
export function processInvoicesJob(parts: ProcessInvoicesParts, policy: ClaimingPolicy): Job {
  const { invoices, pace, pause, instance, checkShards } = parts;
  const { clock, telemetry } = instance;
  const { shards, groups, batchSize } = policy;
  return defineJob<ClaimWork>({
    name: jobNames.payments,
    groups: Array.from({ length: groups }, (_, group) => `${group}`),

    async *plan(group, { dryRun }) {
      await checkShards();
      const room = createClaimRoom({ invoices, pace, clock }, paceLimits.charges, policy);
      yield* planDue(
        { invoices, clock, room: dryRun ? unlimitedRoom(batchSize) : room },
        {
          shards: shardsOfGroup(Number(group), { shards, groups }),
          pageSize: batchSize * batchesPerPage,
        },
      );
    },

    async process(work, run) {
      if (work.kind === 'unreadable') return { counts: {}, failed: work.error };
      const { shard, invoices: read } = work;
      const { key, fence } = run.lease;
      const lease = {
        key,
        fence,
        // Asked before each try: a slow store may have let more time pass since the look than a pause leaves.
        assertHeld() {
          run.lease.assertHeld();
          if (pause.gate() !== 'open')
            throw new MaybePaused('payments are paused, or it is not known whether they are');
        },
      };
      try {
        await pause.look();
        const { counts, unsent } = await claimBatch({ ...parts, ...policy }, shard, read, { ...run, lease });
        countOutcomes({ ...counts });
        if (counts.parked > 0) telemetry.count(metric.invoiceParked, { unknown: true }, counts.parked);
        if (unsent === undefined) return { counts: { ...counts } };
        // Claims made while no message gets through would only go stale: they are better left to the next run.
        return { counts: { ...counts }, stop: `payment commands cannot be sent: ${unsent}` };
      } catch (error) {
        if (error instanceof LeaseLost) throw error;
        if (error instanceof FencedOut) {
          const counts = { fencedOut: read.length };
          countOutcomes(counts);
          return { counts, lost: error.message };
        }
        if (error instanceof MaybePaused) return { counts: {}, held: error.message };
        work.leaveOut();
        return { counts: {}, failed: `shard ${shard}: ${errorText(error)}` };
      }
    },

    preview(work) {
      // Without the shard the count is too small. Read again, it is too large: a dry run takes nothing out of the first pages.
      if (work.kind === 'unreadable') throw new Error(work.error);
      return previewClaims(work.invoices, clock.now());
    },
  });

  function countOutcomes(counts: RunCounts): void {
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) telemetry.count(metric.invoiceClaims, { outcome }, count);
    }
  }
}

/** Invoices of one shard to be claimed together, or why a shard could not be read. */
export type ClaimWork =
  | {
      kind: 'claim';
      shard: string;
      invoices: readonly Invoice[];
      /** The shard takes no claims: it is left out for a while. */
      leaveOut: () => void;
    }
  | { kind: 'unreadable'; error: string };

interface DueParts {
  invoices: Pick<InvoiceStore, 'due'>;
  clock: Clock;
  room: ClaimRoom;
}

interface DuePolicy {
  shards: readonly string[];
  pageSize: number;
}

/** Wait for room (ms). */
const pauseMs = 1_000;

/** Pause before a shard that failed is tried again (ms). */
const leftOutMs = 30_000;

/**
 * The order in which one group claims what is due: longest waiting first over all its shards, for as long as there is room. What
 * becomes due meanwhile comes after what was due before. What is read is claimed conditionally, so an old page does no harm.
 * A shard that cannot be read or claimed in is left out for a while, and the others go on. A run does not wait for it: the next
 * one has it, too.
 */
export async function* planDue(
  { invoices, clock, room }: DueParts,
  { shards, pageSize }: DuePolicy,
): AsyncGenerator<ClaimWork | Idle> {
  const readers = new Map<string, Reader>();
  /** Shards that failed, and until when they are left out (monotonic). */
  const failed = new Map<string, number>();
  let waited: boolean;
  do {
    waited = false;
    readers.clear();
    for (;;) {
      for (const shard of shards) {
        if (clock.monotonic() < (failed.get(shard) ?? 0)) continue;
        let reader = readers.get(shard);
        if (reader === undefined) {
          const now = new Date(clock.now()).toISOString();
          const pages = invoices.due({ shard, now, pageSize });
          reader = { shard, page: [], pages: pages[Symbol.asyncIterator]() };
          readers.set(shard, reader);
        }
        if (reader.page.length > 0) continue;
        try {
          const next = await reader.pages.next();
          reader.page = next.done === true ? [] : next.value;
        } catch (error) {
          leaveOut(shard);
          yield { kind: 'unreadable', error: `shard ${shard}: ${errorText(error)}` };
        }
      }
      // The one that waits longest: times in ISO 8601 sort as text.
      const [oldest] = [...readers.values()]
        .filter(({ page }) => page.length > 0)
        .toSorted(({ page: [a] }, { page: [b] }) =>
          (a?.actionableAt ?? '') < (b?.actionableAt ?? '') ? -1 : 1,
        );
      if (oldest === undefined) break;
      const size = await room.batch();
      if (size === 0) {
        waited = true;
        yield new Idle(pauseMs);
        continue;
      }
      const { shard, page } = oldest;
      const taken = page.slice(0, batchLength(page, size));
      oldest.page = page.slice(taken.length);
      room.taken(taken.length);
      yield { kind: 'claim', shard, invoices: taken, leaveOut: () => leaveOut(shard) };
    }
  } while (waited);

  function leaveOut(shard: string): void {
    failed.set(shard, clock.monotonic() + leftOutMs);
    readers.delete(shard);
  }
}

/** Due invoices of one shard, longest waiting first: the rest of one page, and the pages behind it. */
interface Reader {
  readonly shard: string;
  page: readonly Invoice[];
  readonly pages: AsyncIterator<readonly Invoice[]>;
}

/**
 * Bytes for the commands of one batch: a Service Bus message holds 256 KB in the standard tier
 * (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas), and the envelope needs some of it.
 */
const maxBytes = 192 * 1024;
/** Upper bound of what a command holds besides the invoice's own texts, in bytes. */
const commandBytes = 480;

/** Number of invoices of a page, from its beginning, that go into one batch: at most `most`, if their message fits Service Bus. Pure. */
export function batchLength(page: readonly Invoice[], most: number): number {
  let bytes = 0;
  for (const [index, invoice] of page.slice(0, most).entries()) {
    const { id, customerId, paymentMethod, description } = invoice;
    // As JSON, in which a quote or a line feed counts twice.
    bytes += commandBytes + Buffer.byteLength(JSON.stringify([id, customerId, paymentMethod, description]));
    if (index > 0 && bytes > maxBytes) return index;
  }
  return Math.min(page.length, most);
}

/** Bound of the work claimed ahead of the calls: as many invoices as the fleet makes calls for in this time (ms). */
const longestAheadMs = 120_000;

/** The same as a share of the time after which a claim is stale: the last of it is begun long before that. */
const staleShare = 0.4;

/** The same as a share of the time that a batch has for its calls: one that waits behind all the others still has its turn. */
const windowShare = 0.6;

/** Of the pace, what is claimed for before it is known how fast the fleet really is; and how it grows from there. */
const unknownShare = 1 / 6;
const growth = 1.25;

/** Batches that each group may have open, at least: with fewer the consumers would wait for the claimers. */
const fewestBatches = 4;

/** Least time between two counts of the open claims (ms): when a group's part of the room is used up, and otherwise. */
const lookEveryMs = { usedUp: 1_000, inAnyCase: 10_000 };

export interface RoomPolicy {
  /** Parts of the work, each under a lease of its own. */
  groups: number;
  batchSize: number;
  claimStaleMs: number;
  /** Window of a batch: time after its delivery in which its calls may begin (ms). */
  callWindowMs: number;
  /** Calls per second, as long as nobody has made one. */
  ceiling: number;
}

/** Calculates how many invoices may be claimed and not done at a time, over all groups. Pure. */
export function mostOpen(
  schedule: Pick<Schedule, 'pace' | 'last'> | undefined,
  { groups, claimStaleMs, callWindowMs, ceiling }: Omit<RoomPolicy, 'batchSize'>,
): number {
  const { pace, last } = schedule ?? { pace: ceiling, last: { rate: 0 } };
  const perSecond = Math.min(pace, Math.max(last.rate * growth, pace * unknownShare));
  const aheadMs = Math.min(longestAheadMs, claimStaleMs * staleShare, callWindowMs * windowShare);
  return Math.max(groups * fewestBatches, Math.round((perSecond * aheadMs) / 1000));
}

/** The room that one group has for claims. */
export interface ClaimRoom {
  /** Resolves with the number of invoices that the group may claim now in one batch; 0: none for the moment. */
  batch(): Promise<number>;
  /** So many were claimed. */
  taken(count: number): void;
}

/**
 * Keeps what is claimed to what can be done soon, so that no claim goes stale before its call has begun. What is open is
 * counted at most once a second. Each group takes its part of the room that is left: they never overshoot together, and soon
 * fill it, since what one leaves is there for the others a second later.
 */
export function createClaimRoom(
  { invoices, pace, clock }: { invoices: Pick<InvoiceStore, 'openClaims'>; pace: PaceStore; clock: Clock },
  limit: string,
  policy: RoomPolicy,
): ClaimRoom {
  const { groups, batchSize } = policy;
  let known = { at: Number.NEGATIVE_INFINITY, left: 0, size: 1, open: 0 };

  return {
    async batch() {
      const sinceMs = clock.monotonic() - known.at;
      const usedUp = known.left < known.size;
      if (sinceMs >= (usedUp ? lookEveryMs.usedUp : lookEveryMs.inAnyCase)) await look();
      return known.left >= known.size ? known.size : 0;
    },
    taken(count) {
      known.left -= count;
      known.open += count;
    },
  };

  async function look(): Promise<void> {
    const [open, schedule] = await Promise.all([
      // One shard that is away must not end the work in the others. Until it can be counted again, what this group has claimed
      // since counts as open.
      invoices.openClaims(new Date(clock.now()).toISOString()).catch(() => known.open),
      // Without the schedule the pace is taken to be the ceiling.
      pace.read(limit).catch(() => undefined),
    ]);
    const most = mostOpen(schedule, policy);
    // Smaller batches where little may be open, so that every group has some.
    const size = Math.max(1, Math.min(batchSize, Math.floor(most / (groups * fewestBatches))));
    known = { at: clock.monotonic(), size, open, left: Math.max(0, most - open) / groups };
  }
}
