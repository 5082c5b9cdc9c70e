import type { Container } from '@azure/cosmos';
import type { OnUnreadable } from '../documents/readable.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { actionableInvoices } from '../invoice/readInvoices.ts';
import { shardsOfGroup } from '../invoice/shard.ts';
import { FencedOut } from '../locking/fence.ts';
import type { Dispatcher } from '../outbox/dispatcher.ts';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import { type Counts, defineJob, type Job } from '../runs/job.ts';
import { batchesOf } from './batchesOf.ts';
import { type ClaimedBatch, claimBatch } from './claimBatch.ts';
import { decideClaim } from './decideClaim.ts';

export const processInvoicesName = 'process-invoices';

/** Batches that one page of invoices is read for: fewer queries, at the price of a slightly older look at each invoice. */
const batchesPerPage = 4;

/** Invoices of one shard that are to be claimed together. */
interface ClaimWork {
  shard: string;
  invoices: Invoice[];
}

export interface ProcessInvoicesOptions {
  container: Container;
  dispatcher: Dispatcher;
  clock: Clock;
  telemetry: Telemetry;
  shards: number;
  groups: number;
  batchSize: number;
  claimStaleMs: number;
  /** Whether somebody wants to hear of what is parked. */
  notifies: boolean;
  onUnreadable: OnUnreadable;
  /** Asked before anything is planned. @throws {ShardsChanged} */
  checkShards: () => Promise<void>;
}

/** The job that claims every due invoice and orders its payment through the outbox. */
export function processInvoicesJob(options: ProcessInvoicesOptions): Job {
  const {
    container,
    dispatcher,
    clock,
    telemetry,
    shards,
    groups,
    batchSize,
    claimStaleMs,
    notifies,
    onUnreadable,
  } = options;
  return defineJob<ClaimWork>({
    name: processInvoicesName,
    groups: Array.from({ length: groups }, (_, group) => `${group}`),

    async *plan(group) {
      await options.checkShards();
      for (const shard of shardsOfGroup(Number(group), { shards, groups })) {
        const now = new Date(clock.now()).toISOString();
        for await (const page of actionableInvoices(container, {
          shard,
          now,
          pageSize: batchSize * batchesPerPage,
          onUnreadable,
        })) {
          for (const batch of batchesOf(page, batchSize)) yield { shard, invoices: batch };
        }
      }
    },

    async process({ shard, invoices }, { runId, by, lease }) {
      const claimant = {
        runId,
        by,
        lockKey: lease.key,
        fence: lease.fence,
        assertHeld: () => lease.assertHeld(),
      };
      let claimed: ClaimedBatch;
      try {
        const dependencies = { container, clock, claimStaleMs, notifies };
        claimed = await claimBatch(dependencies, shard, invoices, claimant);
      } catch (error) {
        if (!(error instanceof FencedOut)) throw error;
        const counts = { fencedOut: invoices.length };
        countOutcomes(counts);
        return { counts, lost: error.message };
      }
      const { counts, message } = claimed;
      countOutcomes({ ...counts });
      if (counts.parked > 0) telemetry.count(metric.invoiceParked, { unknown: true }, counts.parked);
      if (message === undefined) return { counts: { ...counts } };
      const decision = await dispatcher.dispatch(message, () => lease.assertHeld());
      // What is claimed while no message gets through would only grow stale: it is better left to the next run.
      const stop =
        decision.kind === 'retry' ? `payment commands cannot be sent: ${decision.error}` : undefined;
      return { counts: { ...counts }, ...(stop === undefined ? {} : { stop }) };
    },

    preview({ invoices }) {
      const now = new Date(clock.now()).toISOString();
      const counts: Record<string, number> = {};
      for (const invoice of invoices) {
        const name = previewName[decideClaim(invoice, now).kind];
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts satisfies Counts;
    },
  });

  function countOutcomes(counts: Counts): void {
    for (const [outcome, count] of Object.entries(counts)) {
      if (count > 0) telemetry.count(metric.invoiceClaims, { outcome }, count);
    }
  }
}

const previewName = { claim: 'claimed', reclaim: 'reclaimed', park: 'parked', skip: 'notDue' } as const;
