import type { Settlement } from './decideSettlement.ts';
import type { PaymentBatch } from './paymentBatch.ts';
import type { StartedPart } from './startAndSettle.ts';

export interface BatchResult {
  settled: Record<Settlement['kind'], number>;
  dropped: StartedPart['dropped'];
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
 * Pays one batch. Once `mayCall` says no, no further call begins; calls under way are settled. `serviceTime`: what the clock
 * of Service Bus has shown at least, in milliseconds since the epoch, for a process whose own is behind.
 */
export type PayBatch = (
  batch: PaymentBatch,
  mayCall?: () => boolean,
  serviceTime?: () => number,
) => Promise<BatchResult>;
