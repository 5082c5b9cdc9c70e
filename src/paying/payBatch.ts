import type { FollowUps } from '../followUps/followUps.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Backlog } from '../outbox/dispatcher.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Clock } from '../platform/clock.ts';
import type { Instance } from '../platform/instance.ts';
import { chargeUnderKey } from './chargeUnderKey.ts';
import {
  type CommandOutcome,
  decideSettlement,
  type Settlement,
  type SettlementPolicy,
} from './decideSettlement.ts';
import type { PacedProvider } from './pacedProvider.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';
import type { SettledCommand } from './planSettlement.ts';
import { resolveMethod } from './resolveMethod.ts';
import { type StartedBatch, settleBatch, startBatch } from './startAndSettle.ts';

export interface PayingParts {
  invoices: Pick<InvoiceStore, 'start' | 'settle' | 'update'>;
  provider: PacedProvider;
  followUps: FollowUps;
  /** Where the messages of follow-ups wait for their dispatch. */
  backlog: Backlog;
  instance: Instance;
}

export interface PayingPolicy {
  settlement: SettlementPolicy;
  claimStaleMs: number;
  /** How long after its delivery calls of a batch may begin, in milliseconds (payingPolicy.ts). */
  callWindowMs: number;
  /** How long settled outcomes wait for others of their batch, in milliseconds. */
  lingerMs: number;
}

export interface BatchResult {
  settled: Record<Settlement['kind'], number>;
  dropped: StartedBatch['dropped'];
  /** Outcomes of invoices that another claim took meanwhile. */
  lost: number;
}

/** The batch had to stop before every command was called: the message has to be delivered again. */
export class BatchUnfinished extends Error {
  override readonly name = 'BatchUnfinished';
}

/** Pays one batch. Once `mayCall` says no, no further call begins; calls under way are settled. */
export type PayBatch = (batch: PaymentBatch, mayCall?: () => boolean) => Promise<BatchResult>;

/**
 * Creates what pays a batch: wait until its calls can be made soon, start, charge side by side as their turns come, settle
 * as the outcomes come. Each invoice has its own outcome; a slow call holds up only itself. It is safe to run a batch twice,
 * even at the same time: the claim's token admits one writer, and a repeated call sends the same idempotency key.
 *
 * Calls whose turn did not come within the batch's time go back in one transaction, due at once.
 *
 * A batch rejects with `BatchUnfinished` if `mayCall` said no before every command was called, and with `NoClearAnswer` if
 * the store was away for too long.
 */
export function createPayBatch(parts: PayingParts, policy: PayingPolicy): PayBatch {
  const { invoices, provider, backlog, instance } = parts;
  const { clock, telemetry } = instance;

  return async (batch, mayCall = () => true) => {
    if (!mayCall()) throw new BatchUnfinished(`batch ${batch.batchId} was not started`);
    using _busy = backlog.busy();
    const before = clock.monotonic() + policy.callWindowMs;
    const startedAt = clock.now();
    // By the wall clock too: on a machine that was frozen, the monotonic clock may have stood still (callsOver.ts).
    const isInTime = () => mayCall() && clock.now() - startedAt < policy.callWindowMs;
    const calls = provider.within({ before, mayCall: isInTime });
    const dropped = { settled: 0, staleClaim: 0, missing: 0 };
    const result: BatchResult = {
      settled: { paid: 0, retry: 0, declined: 0, processing: 0, parked: 0 },
      dropped,
      lost: 0,
    };
    let notCalled = 0;

    await settleAsTheyCome(await begin(), { clock, lingerMs: policy.lingerMs, settle });
    if (dropped.staleClaim > 0) telemetry.count(metric.batchStale, {}, dropped.staleClaim);
    if (notCalled > 0)
      throw new BatchUnfinished(`${notCalled} commands of batch ${batch.batchId} were not called`);
    return result;

    /**
     * Starts the batch and asks for the turn of each command. A batch that is not let in in time is started too before it
     * goes back: only the start tells which of its calls an earlier delivery had begun.
     */
    async function begin(): Promise<Promise<SettledCommand | undefined>[]> {
      using admission = await provider.admit(batch.commands.length, before);
      if (!mayCall()) return batch.commands.map(leave);
      const started = await startBatch(invoices, batch, policy);
      Object.assign(dropped, started.dropped);
      return started.toPay.map(admission === undefined ? leave : work);
    }

    async function work(command: PaymentCommand): Promise<SettledCommand | undefined> {
      const resolved = await resolveMethod({ invoices, calls, instance }, batch.batchId, command);
      switch (resolved.kind) {
        case 'lost':
          result.lost++;
          return undefined;
        case 'none':
          return resolved.outcome.kind === 'notCalled' ? leave(command) : settled(command, resolved.outcome);
        case 'resolved': {
          const outcome = await chargeUnderKey(calls, resolved.command, clock.now());
          if (outcome.kind === 'notCalled') return leave(resolved.command);
          return settled(resolved.command, outcome);
        }
      }
    }

    /** The command goes back, or comes again with the message: then nobody else may take it. */
    async function leave(command: PaymentCommand): Promise<SettledCommand | undefined> {
      if (mayCall()) return settled(command, { kind: 'notCalled' });
      notCalled++;
      return undefined;
    }

    function settled(command: PaymentCommand, outcome: CommandOutcome): SettledCommand {
      telemetry.count(metric.paymentOutcome, { outcome: outcome.kind });
      const settlement = decideSettlement(command, outcome, policy.settlement, clock.now());
      return { command, settlement };
    }

    async function settle(part: SettledCommand[]): Promise<void> {
      const { settled, lost, messages } = await settleBatch(parts, batch, part);
      for (const { settlement } of settled) {
        result.settled[settlement.kind]++;
        if (settlement.kind === 'parked')
          telemetry.count(metric.invoiceParked, { unknown: settlement.unknown });
      }
      result.lost += lost;
      // Those for later are the sweeper's.
      for (const message of messages) if (message.notBefore === undefined) backlog.add(message);
    }
  };
}

/**
 * Passes results on in groups as they arrive: once all are there, or `lingerMs` after the first of a group. A batch whose
 * calls take about the same time is settled in one go, and one slow call does not hold up the rest. A result that is
 * `undefined` needs no settling.
 *
 * @throws what `settle` or one of the results throws, after all the others have ended
 */
export async function settleAsTheyCome<T>(
  results: readonly Promise<T | undefined>[],
  { clock, lingerMs, settle }: { clock: Clock; lingerMs: number; settle: (group: T[]) => Promise<void> },
): Promise<void> {
  let arrived: T[] = [];
  let first = Promise.withResolvers<void>();
  const watched = results.map(async (promise) => {
    const result = await promise;
    if (result === undefined) return;
    arrived.push(result);
    first.resolve();
  });
  const finished = Promise.allSettled(watched);
  let failure: { error: unknown } | undefined;
  let open = true;
  const closed = finished.then(() => {
    open = false;
    first.resolve();
  });
  while (open || arrived.length > 0) {
    await first.promise;
    const stop = new AbortController();
    if (open) await Promise.race([closed, clock.sleep(lingerMs, stop.signal).catch(() => {})]);
    stop.abort();
    const group = arrived;
    arrived = [];
    first = Promise.withResolvers();
    if (!open) first.resolve();
    try {
      if (group.length > 0) await settle(group);
    } catch (error) {
      // The other answers are known, and would otherwise have to be asked for again.
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  for (const outcome of await finished) if (outcome.status === 'rejected') throw outcome.reason;
}
