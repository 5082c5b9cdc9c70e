import type { Container } from '@azure/cosmos';
import type { Backlog } from '../outbox/backlog.ts';
import type { Clock } from '../platform/clock.ts';
import { metric, type Telemetry } from '../platform/telemetry.ts';
import {
  decideSettlement,
  type Settled,
  type Settlement,
  type SettlementPolicy,
} from './decideSettlement.ts';
import { pay } from './payInvoice.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';
import type { PaymentProvider } from './paymentProvider.ts';
import { settleAsTheyCome } from './settleAsTheyCome.ts';
import { settleCommands } from './settleBatch.ts';
import { type StartedBatch, startBatch } from './startBatch.ts';

export interface ExecutePaymentsDependencies {
  container: Container;
  provider: PaymentProvider;
  /** Where the work that follows from payments waits for its dispatch. */
  followUps: Backlog;
  clock: Clock;
  telemetry: Telemetry;
  /** Bounds the provider calls of the whole process. */
  limit: <T>(call: () => Promise<T>) => Promise<T>;
  policy: SettlementPolicy;
  claimStaleMs: number;
  /** How long after its start calls of a batch may begin, in milliseconds (callWindow.ts). */
  callWindowMs: number;
  /** How long settled outcomes wait for further ones of their batch, in milliseconds. */
  lingerMs: number;
  /** The instance, as it shall be shown to people. */
  by: string;
  /** Whether somebody wants to hear what becomes of invoices. */
  notifies: boolean;
}

export interface BatchResult {
  settled: Record<Settlement['kind'], number>;
  dropped: StartedBatch['dropped'];
  /** Outcomes of invoices that another claim took meanwhile. */
  lost: number;
}

/** Some commands of a batch were not called while its claims were fresh: the message has to be delivered again. */
export class BatchUnfinished extends Error {
  override readonly name = 'BatchUnfinished';
}

/**
 * Pays the invoices of one batch: start, charge side by side, settle as the outcomes come. Each invoice has its own
 * outcome; a slow call holds up only itself. Once `mayCall` says no, no further call begins; those under way are settled,
 * since their answers are wanted. Safe to run twice, also at the same time: the claim's token admits one writer, and a repeated call sends the same
 * idempotency key.
 *
 * @throws {BatchUnfinished} when `mayCall` said no, or the time for calls was over, before every command was called
 * @throws {NoClearAnswer} when the store was away too long
 */
export async function executeBatch(
  dependencies: ExecutePaymentsDependencies,
  batch: PaymentBatch,
  mayCall: () => boolean = () => true,
): Promise<BatchResult> {
  const { provider, followUps, clock, telemetry, limit, policy, callWindowMs, lingerMs } = dependencies;
  if (!mayCall()) throw new BatchUnfinished(`batch ${batch.batchId} was not started`);
  using _busy = followUps.busy();
  const started = clock.monotonic();
  const { toPay, dropped } = await startBatch(dependencies, batch);
  const callBefore = started + callWindowMs;
  const result: BatchResult = { settled: { paid: 0, retry: 0, declined: 0, parked: 0 }, dropped, lost: 0 };
  let notCalled = 0;

  await settleAsTheyCome(
    toPay.map((command) => limit(() => work(command))),
    { clock, lingerMs, settle },
  );
  if (dropped.staleClaim > 0) telemetry.count(metric.batchStale, {}, dropped.staleClaim);
  if (notCalled > 0)
    throw new BatchUnfinished(`${notCalled} commands of batch ${batch.batchId} were not called`);
  return result;

  async function work(command: PaymentCommand): Promise<Settled | undefined> {
    if (!mayCall() || clock.monotonic() >= callBefore) {
      notCalled++;
      return undefined;
    }
    const before = clock.monotonic();
    const outcome = await pay(provider, command, clock.now());
    telemetry.count(metric.paymentOutcome, { outcome: outcome.kind });
    telemetry.record(metric.paymentCallMs, clock.monotonic() - before);
    return { command, settlement: decideSettlement(command, outcome, policy, clock.now()) };
  }

  async function settle(part: Settled[]): Promise<void> {
    const { settled, lost, message } = await settleCommands(dependencies, batch, part);
    for (const { settlement } of settled) {
      result.settled[settlement.kind]++;
      if (settlement.kind === 'parked')
        telemetry.count(metric.invoiceParked, { unknown: settlement.unknown });
    }
    result.lost += lost;
    if (message !== undefined) followUps.add(message);
  }
}
