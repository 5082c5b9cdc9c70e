import { randomUUID } from 'node:crypto';
import type { StoreAway } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { Sender } from '@payonce/jobs/outbox';
import { inSpan, type SpanEnd } from '@payonce/jobs/tracing';
import type { Clock } from '@payonce/leases/clock';
import type { FollowUps } from '../invoice/followUps.ts';
import { maxAttempts } from '../invoice/invoice.ts';
import type { EarlierCalls, Starting, ToStart } from '../invoice/invoiceChange.ts';
import { unknownSince } from '../invoice/paymentState.ts';
import type { InvoiceStore, Started } from '../invoice/store/invoiceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import { chargeUnderKey } from './chargeUnderKey.ts';
import type { PayingPolicy } from './payingPolicy.ts';
import { methodOf, type PaymentBatch, type PaymentCommand } from './paymentBatch.ts';
import type { PacedProvider } from './paymentProvider.ts';
import { resolveMethod } from './resolveMethod.ts';
import {
  type CommandOutcome,
  decideSettlement,
  isWordOnKey,
  planSettlement,
  type SettledCommand,
  type Settlement,
} from './settlement.ts';

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
 * as the outcomes come. A slow call holds up only itself. It is safe to run a batch twice, even at the same time: the claim's
 * token admits one writer, and a repeated call sends the same idempotency key.
 *
 * Invoices called before without a known outcome may have crashed their process. They come last, one after the other, each under
 * a start of its own: another crash costs an attempt only of the invoice that was being called (and in batches side by side).
 *
 * Calls whose turn did not come within the batch's time go back in one transaction, due at once. So do those that are not
 * made because `mayCall` says no or the store is away, but to the batch, as never called: its message comes again. The batch
 * then rejects, with `BatchUnfinished` or `StoreAway`.
 */
export function createPayBatch(parts: PayingParts, policy: PayingPolicy): PayBatch {
  const { invoices, provider, followUps, sender, instance } = parts;
  const { clock, telemetry, name: by } = instance;
  const { claimStaleMs, lingerMs } = policy;

  return async (batch, mayCall = () => true, now = () => clock.now()) => {
    if (!mayCall()) throw new BatchUnfinished(`batch ${batch.batchId} was not started`);
    using _busy = sender.busy();
    const { batchId, shard } = batch;
    const before = clock.monotonic() + policy.callWindowMs;
    const startedAt = clock.now();
    // By the wall clock too: on a machine that was frozen, the monotonic clock may have stood still (payingPolicy.ts).
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

    /** Pays one part, and returns those that another delivery has begun to call. */
    async function payPart(part: Part): Promise<ReadonlyMap<string, EarlierCalls>> {
      const started = await begin(part);
      if (started === undefined) return new Map();
      const { ends, under } = started;
      await settleAsTheyCome(ends, { clock, lingerMs, settle: (ended) => write(ended, under) });
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
      const { calledBefore, toPay, starting } = started;
      const pay = admission === undefined ? leave : work;
      const under = { part, starting };
      const ends = toPay.map((command) => inPaymentSpan(batch, command, () => pay(command, under)));
      return { calledBefore, under, ends };
    }

    async function work(command: PaymentCommand, under: Under): Promise<CommandEnd | undefined> {
      if (methodOf(command) !== undefined) return charge(command, under);
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
            ? leave(command, under)
            : settled(command, resolved.outcome, under.starting);
        case 'resolved':
          return charge(resolved.command, under);
      }
    }

    async function charge(command: PaymentCommand, under: Under): Promise<CommandEnd> {
      const outcome = await chargeUnderKey(calls, command, now());
      if (outcome.kind === 'notCalled') return leave(command, under);
      return settled(command, outcome, isWordOnKey(outcome) ? undefined : under.starting);
    }

    /** The command goes back, or comes again with the message: then nobody else may take it. */
    async function leave(command: PaymentCommand, { part, starting }: Under): Promise<CommandEnd> {
      if (!mayCall()) notCalled++;
      else if (part.alone) result.left++;
      else return settled(command, { kind: 'notCalled' }, starting);
      return { kind: 'notCalled', command };
    }

    function settled(command: PaymentCommand, outcome: CommandOutcome, start?: Starting): CommandEnd {
      telemetry.count(metric.paymentOutcome, { outcome: outcome.kind });
      const settlement = decideSettlement(command, outcome, policy.settlement, now());
      return { kind: 'settled', one: { command, settlement, ...(start && { start }) } };
    }

    async function write(ended: CommandEnd[], { part, starting }: Under): Promise<void> {
      const toSettle = ended.flatMap((end) => (end.kind === 'settled' ? [end.one] : []));
      const held = ended.flatMap((end) => (end.kind === 'notCalled' ? [toStart(part, end.command)] : []));
      const writes = await Promise.allSettled([
        toSettle.length === 0 ? undefined : settle(toSettle),
        held.length === 0 ? undefined : invoices.giveBack({ shard, starting, held }),
      ]);
      // After both: the next delivery would take what is still being returned for called.
      for (const write of writes) if (write.status === 'rejected') throw write.reason;
    }

    /**
     * In one transaction, together with the outbox messages of the work that follows. It holds for each invoice only while the
     * batch still has the claim: the claim that took a lost one sends the same key and settles it. If there is no clear answer,
     * the message is delivered again, the same keys are sent, and the provider answers as before.
     */
    async function settle(some: SettledCommand[]): Promise<void> {
      // Names this settlement and no other, so that a transaction whose answer was lost is recognised.
      const settlementId = `${batchId}-${randomUUID().slice(0, 8)}`;
      const items = some.map((one) => {
        const { invoiceId, amountMinor, currency } = one.command;
        return { ...one, invoiceId, amountMinor, currency };
      });
      const writing = { batchId, shard, settlementId, now: clock.now(), by, followUps };
      const attributes = { 'batch.id': batchId, 'batch.size': some.length };
      const { settled, lost } = await inSpan('settle batch', { attributes }, () =>
        invoices.settle({
          shard,
          batchId,
          settlementId,
          items,
          plan: (left) => planSettlement(left, writing),
        }),
      );
      for (const { settlement } of settled) {
        result.settled[settlement.kind]++;
        if (settlement.kind === 'parked')
          telemetry.count(metric.invoiceParked, { unknown: settlement.unknown });
      }
      result.lost += lost;
    }
  };
}

export interface BatchResult {
  settled: Record<Settlement['kind'], number>;
  /** Number of those dropped, by reason. */
  dropped: Started['dropped'];
  /** Outcomes of invoices that another claim took meanwhile. */
  lost: number;
  /** Not called in this delivery's time. Their claims go stale, and a run decides. */
  left: number;
}

/** The batch had to stop before every command was called: the message has to be delivered again. */
export class BatchUnfinished extends Error {
  override readonly name = 'BatchUnfinished';
}

/**
 * Pays one batch. Once `mayCall` says no, no further call begins; calls in flight are settled. `now`: the time in milliseconds since
 * the epoch, where the clock of Service Bus is known to be ahead of the process's own.
 */
type PayBatch = (batch: PaymentBatch, mayCall?: () => boolean, now?: () => number) => Promise<BatchResult>;

/** Commands of a batch that are called together. */
export interface Part {
  commands: readonly PaymentCommand[];
  /** Where another delivery has called before: then this is one attempt more. */
  earlier: ReadonlyMap<string, EarlierCalls>;
  /** It is one command whose earlier calls may have ended their process. */
  alone: boolean;
}

/**
 * The parts with which a delivery begins. An invoice that was called before without a known outcome may have crashed its
 * process: it is paid alone, after the others, those that were tried least often first. Pure.
 */
export function firstParts({ commands }: Pick<PaymentBatch, 'commands'>): Part[] {
  const [fresh, called] = [false, true].map((wasCalled) =>
    commands.filter(({ payment }) => (payment.unknownSince !== undefined) === wasCalled),
  ) as [PaymentCommand[], PaymentCommand[]];
  const earlier = new Map<string, EarlierCalls>();
  const alone = called
    .toSorted((one, other) => one.attempt - other.attempt)
    .map((command) => ({ commands: [command], earlier, alone: true }));
  return fresh.length === 0 ? alone : [{ commands: fresh, earlier, alone: false }, ...alone];
}

/**
 * Commands that another delivery has begun to call, one by one, those that were tried least often first. One without an attempt left
 * stays out: its claim goes stale, and a run parks it. Pure.
 */
export function partsToRepeat(
  { commands }: Pick<PaymentBatch, 'commands'>,
  calledBefore: ReadonlyMap<string, EarlierCalls>,
): Part[] {
  return commands
    .flatMap((command) => {
      const { attempt = maxAttempts } = calledBefore.get(command.invoiceId) ?? {};
      return attempt < maxAttempts ? [{ command, attempt }] : [];
    })
    .toSorted((one, other) => one.attempt - other.attempt)
    .map(({ command }) => ({ commands: [command], earlier: calledBefore, alone: true }));
}

/** The part of a command that the store has to know. */
function toStart({ earlier }: Part, { invoiceId, payment: { keyCreatedAt } }: PaymentCommand): ToStart {
  const before = earlier.get(invoiceId);
  return { invoiceId, keyCreatedAt, ...(before === undefined ? {} : { earlier: before }) };
}

/**
 * Marks the invoices of a part as being called, in one transaction that holds only while each is still claimed by this
 * batch and was not called by another delivery. If that is refused (the message came again, a claim went stale), the part is
 * read once, each command decided by itself, and the rest started again. `toPay`: commands whose invoices this batch holds now.
 * `calledBefore`: ids of those that another delivery has begun to call. They may have been charged, and are to be paid alone.
 *
 * @throws {NoClearAnswer}
 */
export async function startPart(
  invoices: Pick<InvoiceStore, 'start'>,
  { batchId, shard }: Pick<PaymentBatch, 'batchId' | 'shard'>,
  part: Part,
  { claimStaleMs: staleAfterMs, by }: { claimStaleMs: number; by: string },
) {
  const { commands } = part;
  const toMark = commands.map((command) => toStart(part, command));
  const attributes = { 'batch.id': batchId, 'batch.size': commands.length };
  const { held, calledBefore, dropped, starting } = await inSpan('start batch', { attributes }, () =>
    invoices.start({ shard, batchId, invoices: toMark, staleAfterMs, by }),
  );
  const byId = new Map(held.map((one) => [one.invoiceId, one]));
  const toPay = commands.flatMap((command) => {
    const one = byId.get(command.invoiceId);
    return one === undefined ? [] : [repeated(command, one.earlier)];
  });
  const before = new Map(calledBefore.map((one) => [one.invoiceId, one.earlier]));
  return { toPay, calledBefore: before, dropped, starting };
}

/** The command as it is to be paid: earlier calls under its claim may have charged. Pure. */
export function repeated(command: PaymentCommand, earlier: EarlierCalls | undefined): PaymentCommand {
  if (earlier === undefined) return command;
  const payment = unknownSince(command.payment, earlier.since);
  return { ...command, attempt: earlier.attempt + 1, payment };
}

/** The start that the commands of a part are called under. */
interface Under {
  part: Part;
  starting: Starting;
}

/** Write for a command. */
type CommandEnd = { kind: 'settled'; one: SettledCommand } | { kind: 'notCalled'; command: PaymentCommand };

/** Pays one invoice in a span of the trace of the run that claimed it. */
function inPaymentSpan(
  { batchId, runId }: PaymentBatch,
  { invoiceId, attempt, payment }: PaymentCommand,
  pay: () => Promise<CommandEnd | undefined>,
): Promise<CommandEnd | undefined> {
  const attributes = {
    'invoice.id': invoiceId,
    'batch.id': batchId,
    'run.id': runId,
    'invoice.attempt': attempt,
    'payment.key_number': payment.keyNumber,
  };
  return inSpan('pay invoice', { attributes }, pay, endOf);
}

/** Sampling keeps every span that has failed: here, whatever leaves the invoice unpaid though it was called. */
function endOf(ended: CommandEnd | undefined): SpanEnd {
  if (ended === undefined) return { attributes: { 'payment.result': 'claimLost' } };
  if (ended.kind === 'notCalled') return { attributes: { 'payment.result': 'notCalled' } };
  const { settlement } = ended.one;
  const result = settlement.kind === 'retry' ? `retry:${settlement.why}` : settlement.kind;
  const fine = ['paid', 'processing', 'retry:noTurn'].includes(result);
  return { attributes: { 'payment.result': result }, failed: fine ? undefined : result };
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
