import pLimit from 'p-limit';
import type { StoreAway } from '../documents/documentStore.ts';
import type { FollowUps } from '../invoice/followUps.ts';
import type { EarlierCalls, Starting } from '../invoice/invoiceChange.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Sender } from '../outbox/dispatcher.ts';
import { metric } from '../platform/appMetrics.ts';
import type { Instance } from '../platform/instance.ts';
import { type BatchResult, BatchUnfinished, type PayBatch } from './batchResult.ts';
import { chargeUnderKey } from './chargeUnderKey.ts';
import { type CommandOutcome, decideSettlement, isWordOnKey } from './decideSettlement.ts';
import type { PacedProvider } from './pacedProvider.ts';
import type { PayingPolicy } from './payingPolicy.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import { type Ended, inPaymentSpan } from './paymentSpan.ts';
import type { SettledCommand } from './planSettlement.ts';
import { resolveMethod } from './resolveMethod.ts';
import { settleAsTheyCome } from './settleAsTheyCome.ts';
import {
  attemptOf,
  firstParts,
  type Part,
  partsToRepeat,
  settleBatch,
  startPart,
  toWrite,
} from './startAndSettle.ts';

/** Attempts up to which an invoice that is paid alone may be called beside those of other batches. */
const triesBesideOthers = 2;

export interface PayingParts {
  invoices: Pick<InvoiceStore, 'find' | 'start' | 'giveBack' | 'settle' | 'update'>;
  provider: PacedProvider;
  followUps: FollowUps;
  /** Where the messages of follow-ups wait for their dispatch. */
  sender: Pick<Sender, 'busy'>;
  instance: Instance;
}

/**
 * Creates what pays a batch: wait until its calls can be made soon, start, charge side by side as their turns come, settle
 * as the outcomes come. Each invoice has its own outcome; a slow call holds up only itself. It is safe to run a batch twice,
 * even at the same time: the claim's token admits one writer, and a repeated call sends the same idempotency key.
 *
 * Invoices called before without a known outcome may have crashed their process. They come last, one invoice after the other,
 * each under a start of its own: if the process crashes again, only the invoice that was being called has used up an attempt.
 * Batches are paid side by side, and so are their first tries of this kind; later ones are paid one at a time in a process,
 * so that two under suspicion do not use up their attempts together.
 *
 * Calls whose turn did not come within the batch's time go back in one transaction, due at once. So do those that are not
 * made because `mayCall` says no or the store is away, but to the batch, as never called: its message comes again. The batch
 * then rejects, with `BatchUnfinished` or `StoreAway`.
 */
export function createPayBatch(parts: PayingParts, policy: PayingPolicy): PayBatch {
  const { invoices, provider, sender, instance } = parts;
  const { clock, telemetry, name: by } = instance;
  const { claimStaleMs, lingerMs } = policy;
  const oneInProcess = pLimit(1);

  return async (batch, mayCall = () => true, serviceTime = () => 0) => {
    if (!mayCall()) throw new BatchUnfinished(`batch ${batch.batchId} was not started`);
    using _busy = sender.busy();
    const { batchId, shard } = batch;
    const before = clock.monotonic() + policy.callWindowMs;
    const startedAt = clock.now();
    const now = () => Math.max(clock.now(), serviceTime());
    // By the wall clock too: on a machine that was frozen, the monotonic clock may have stood still (callsOver.ts).
    const isInTime = () => mayCall() && clock.now() - startedAt < policy.callWindowMs;
    const calls = provider.within({ before, mayCall: isInTime });
    const dropped = { settled: 0, staleClaim: 0, missing: 0 };
    const result: BatchResult = {
      settled: { paid: 0, retry: 0, declined: 0, processing: 0, parked: 0 },
      dropped,
      lost: 0,
      left: 0,
    };
    let notCalled = 0;
    let away: StoreAway | undefined;

    const calledBefore = new Map<string, EarlierCalls>();
    for (const part of firstParts(batch))
      for (const [id, calls] of await payPart(part)) calledBefore.set(id, calls);
    const repeats = partsToRepeat(batch, calledBefore);
    result.left += calledBefore.size - repeats.length;
    for (const part of repeats) result.left += (await payPart(part)).size;
    if (dropped.staleClaim > 0) telemetry.count(metric.batchStale, {}, dropped.staleClaim);
    if (notCalled > 0) throw new BatchUnfinished(`${notCalled} commands of batch ${batchId} were not called`);
    return result;

    function payPart(part: Part): Promise<ReadonlyMap<string, EarlierCalls>> {
      return part.alone && attemptOf(part) > triesBesideOthers
        ? oneInProcess(() => payNow(part))
        : payNow(part);
    }

    /** Pays one part, and returns those that another delivery has begun to call. */
    async function payNow(part: Part): Promise<ReadonlyMap<string, EarlierCalls>> {
      const started = await begin(part);
      if (started === undefined) return new Map();
      await settleAsTheyCome(started.ends, {
        clock,
        lingerMs,
        settle: (ended) => write(ended, started),
      });
      if (away !== undefined) throw away;
      return started.calledBefore;
    }

    /**
     * Starts a part and asks for the turn of each command. What is not let in in time is started too before it goes back:
     * only the start tells which of its calls an earlier delivery had begun. What is paid alone stays as it is.
     */
    async function begin(part: Part) {
      const { commands, alone } = part;
      using admission = await provider.admit(commands.length, before);
      if (!mayCall()) {
        notCalled += commands.length;
        return undefined;
      }
      if (admission === undefined && alone) {
        result.left += commands.length;
        return undefined;
      }
      const started = await startPart(invoices, batch, part, { claimStaleMs, by });
      dropped.settled += started.dropped.settled;
      dropped.staleClaim += started.dropped.staleClaim;
      dropped.missing += started.dropped.missing;
      const pay = admission === undefined ? leave : work;
      return {
        ...started,
        part,
        ends: started.toPay.map((command) => inPaymentSpan(batch, command, () => pay(command, part))),
      };
    }

    async function work(command: PaymentCommand, part: Part): Promise<Ended | undefined> {
      const resolved = await resolveMethod({ invoices, calls, instance }, batchId, command);
      switch (resolved.kind) {
        case 'lost':
          result.lost++;
          return undefined;
        case 'storeAway':
          away ??= resolved.error;
          return { kind: 'notCalled', command };
        case 'none':
          return resolved.outcome.kind === 'notCalled'
            ? leave(command, part)
            : settled(command, resolved.outcome);
        case 'resolved': {
          const outcome = await chargeUnderKey(calls, resolved.command, now());
          if (outcome.kind === 'notCalled') return leave(resolved.command, part);
          return settled(resolved.command, outcome, isWordOnKey(outcome));
        }
      }
    }

    /** The command goes back, or comes again with the message: then nobody else may take it. */
    async function leave(command: PaymentCommand, part: Part): Promise<Ended> {
      if (!mayCall()) notCalled++;
      else if (part.alone) result.left++;
      else return settled(command, { kind: 'notCalled' });
      return { kind: 'notCalled', command };
    }

    function settled(command: PaymentCommand, outcome: CommandOutcome, ofKey = false): Ended {
      telemetry.count(metric.paymentOutcome, { outcome: outcome.kind });
      const settlement = decideSettlement(command, outcome, policy.settlement, now());
      return { kind: 'settled', one: { command, settlement }, ofKey };
    }

    async function write(ended: Ended[], of: { part: Part; starting: Starting }): Promise<void> {
      const { toSettle, held } = toWrite(ended, of);
      const writes = await Promise.allSettled([
        toSettle.length === 0 ? undefined : settle(toSettle),
        held.length === 0 ? undefined : invoices.giveBack({ shard, starting: of.starting, held }),
      ]);
      // After both: the next delivery would take what is still being given back for called.
      for (const write of writes) if (write.status === 'rejected') throw write.reason;
    }

    async function settle(some: SettledCommand[]): Promise<void> {
      const { settled, lost } = await settleBatch(parts, batch, some);
      for (const { settlement } of settled) {
        result.settled[settlement.kind]++;
        if (settlement.kind === 'parked')
          telemetry.count(metric.invoiceParked, { unknown: settlement.unknown });
      }
      result.lost += lost;
    }
  };
}
