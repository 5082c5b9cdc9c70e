/** The first of the month: many invoices are due at once, nothing goes wrong, and the provider's allowance is the limit. */
import { metric } from '../../../src/platform/appMetrics.ts';
import { realNow } from '../engine/globals.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Plan } from '../plan/plan.ts';
import { simulate } from '../simulate.ts';
import { type CosmosUse, countedDocuments, countRequest } from './cosmosUse.ts';
import { type LazyInvoices, lazyInvoices } from './lazyInvoices.ts';

export interface ScaleOptions {
  invoices: number;
  instances: number;
  /** Charges a second. */
  rate: number;
  shards: number;
  shardGroups: number;
  batchSize: number;
  seed: number;
}

export const defaultScale: Omit<ScaleOptions, 'invoices'> = {
  instances: 20,
  rate: 100,
  shards: 16,
  shardGroups: 4,
  batchSize: 50,
  seed: 1,
};

export interface ScaleResult {
  /** From the time at which all are due until the last was paid. */
  seconds: number;
  idealSeconds: number;
  claimsPerInvoice: number;
  paid: number;
  charges: number;
  refusedShare: number;
  cosmosPerInvoice: number;
  requestUnitsPerInvoice: number;
  cosmosByName: Readonly<Record<string, number>>;
  /** By second, on average over the whole time. */
  requestUnitsPerSecond: number;
  /** Claimed and not paid, at most. */
  mostOpen: number;
  memoryMb: number;
  wallSeconds: number;
  events: number;
  violation: string | undefined;
}

const minute = 60_000;
/** The timers tick then for the first time. */
const dueMs = 5 * minute;
/** Interval at which the paid invoices are counted (ms). */
const lookEveryMs = 1_000;
/** Time that an invoice is kept after its payment (ms). Dispatched messages are not kept. */
const keptMs = 60_000;
const forgetEveryMs = 10_000;

function planOf(
  { rate, shards, shardGroups, batchSize, instances, seed }: ScaleOptions,
  idealMs: number,
): Plan {
  return {
    seed,
    instances,
    horizonMs: dueMs + 2 * idealMs + 10 * minute,
    invoices: [],
    faults: [],
    clockErrorMs: Array.from({ length: instances }, () => 0),
    rate,
    shards,
    shardGroups,
    batchSize,
    claimStaleSeconds: 300,
    paymentTimeoutSeconds: 30,
    invoiceEveryMs: 5 * minute,
    listsEvents: false,
    notifies: false,
    searchLagMs: minute,
    tokenBucket: true,
  };
}

export async function simulateScale(
  options: ScaleOptions,
  onProgress: (line: string) => void = () => {},
): Promise<ScaleResult> {
  const { invoices: count, rate, shards, batchSize } = options;
  const idealSeconds = count / rate;
  const began = realNow();
  const use: CosmosUse = { requests: 0, requestUnits: 0, byName: new Map() };
  const counts = { claims: 0, paid: 0, forgotten: 0, accepted: 0, refused: 0, charges: 0, mostOpen: 0 };
  let memoryMb = 0;
  let lastPaidAt = 0;
  let dueAt = 0;
  const { violation, events } = await simulate(planOf(options, idealSeconds * 1000), {
    observe,
    mostEvents: Number.POSITIVE_INFINITY,
    // Invoices come without an import, and those that are paid are forgotten: the kept counts cannot know.
    except: new Set(['summary counts'] as const),
  });
  const seconds = (lastPaidAt - dueAt) / 1000;
  return {
    seconds,
    idealSeconds,
    claimsPerInvoice: counts.claims / count,
    paid: counts.paid,
    charges: counts.charges,
    refusedShare: counts.refused / Math.max(1, counts.accepted + counts.refused),
    cosmosPerInvoice: use.requests / count,
    requestUnitsPerInvoice: use.requestUnits / count,
    cosmosByName: Object.fromEntries([...use.byName].toSorted(([, a], [, b]) => b - a)),
    requestUnitsPerSecond: use.requestUnits / seconds,
    mostOpen: counts.mostOpen,
    memoryMb,
    wallSeconds: (realNow() - began) / 1000,
    events,
    violation: violation && `"${violation.invariant}": ${violation.what}`,
  };

  function observe(fleet: Fleet): void {
    const { world, timers } = fleet;
    const { timeline, documents: store } = world;
    dueAt = timeline.now + dueMs;
    const lazy = lazyInvoices(store, { count, shards, dueAt: new Date(dueAt).toISOString() });
    const pageSize = batchSize * 4;
    world.documents = { ...store, ...countedDocuments(lazy.documents, use, pageSize) };
    world.onCall = (service, name) => {
      if (service === 'cosmos' && timeline.now >= dueAt && counts.paid < count) countRequest(use, name);
    };
    world.onReport = ({ name, value, attributes }) => {
      if (name === metric.invoiceClaims && attributes.outcome !== 'contended') counts.claims += value;
      if (name !== metric.paceCalls || attributes.limit !== 'charges') return;
      if (attributes.result === 'refused') counts.refused += value;
      else counts.accepted += value;
    };
    let over = false;
    timers.everyTick(() => !over);
    fleet.later(dueMs, look);
    fleet.later(dueMs, forgetOften);

    function look(): void {
      const ofStatus = (status: string) =>
        [...world.invoices.values()].filter((invoice) => invoice.status === status).length;
      counts.mostOpen = Math.max(counts.mostOpen, ofStatus('claimed'));
      counts.paid = counts.forgotten + ofStatus('paid');
      if (counts.paid >= count || timeline.now > dueAt + 3 * idealSeconds * 1000 + 30 * minute) {
        // Receipts of the last payments are written by then.
        fleet.later(5 * minute, end);
        return;
      }
      fleet.later(lookEveryMs, look);
    }

    function end(): void {
      over = true;
      forget(timeline.now);
    }

    function forgetOften(): void {
      if (over) return;
      forget(timeline.now - keptMs);
      measure(lazy);
      fleet.later(forgetEveryMs, forgetOften);
    }

    /**
     * Removes the invoices paid by `before`, and counts them and their charges. Removes every dispatched
     * message and all receipts, too.
     */
    function forget(before: number): void {
      for (const [key, document] of world.stored) {
        const { id, shard, status, type } = document;
        const isPaid = type === 'invoice' && status === 'paid' && paidAt(document) <= before;
        const isSent = type === 'outboxMessage' && status === 'dispatched';
        if (!isPaid && !isSent) continue;
        world.stored.delete(key);
        store.forget(shard, id);
        if (!isPaid) continue;
        world.invoices.delete(id);
        counts.forgotten++;
        lastPaidAt = Math.max(lastPaidAt, paidAt(document));
        counts.charges += world.provider.paymentsOf(id).length;
        world.provider.forget(id);
      }
      world.receipts.clear();
    }

    function measure({ left }: LazyInvoices): void {
      memoryMb = Math.max(memoryMb, process.memoryUsage().rss / 2 ** 20);
      const simulated = Math.round((timeline.now - dueAt) / 1000);
      const wall = Math.round((realNow() - began) / 1000);
      if (simulated % 100 === 0)
        onProgress(
          `${simulated} s: ${counts.paid} paid, ${left} not read, ${wall} s, ${Math.round(memoryMb)} MB`,
        );
    }
  }
}

function paidAt({ payment }: Readonly<Record<string, unknown>>): number {
  const at = (payment as { paidAt?: string } | undefined)?.paidAt;
  return at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at);
}
