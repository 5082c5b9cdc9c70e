import { formatVersion } from '../documents/storedDocuments.ts';
import type { Ending, FollowUps, InvoiceEnd } from '../invoice/followUps.ts';
import { known, unknownSince } from '../invoice/invoice.ts';
import { type InvoiceChange, ifClaimedBy, type Starting, startedAs } from '../invoice/invoiceChange.ts';
import type { InvoiceStatus } from '../invoice/invoiceStatus.ts';
import { nextCheckAt, withReversals } from '../invoice/reversals.ts';
import type { Writes } from '../invoice/store/invoiceStore.ts';
import type { Settlement } from './decideSettlement.ts';
import { withProviderReversals } from './mergeReversals.ts';
import type { PaymentCommand } from './paymentBatch.ts';
import { newReversals } from './reversalChanges.ts';

/** A command with what is to become of its invoice. */
export interface SettledCommand {
  command: PaymentCommand;
  settlement: Settlement;
  /**
   * The start that it speaks for. Absent if the provider has said what became of the key, as it would to any delivery. All
   * else is for the latest to write: it may be calling, with a payment method that an earlier one does not know.
   */
  start?: Starting;
}

/** The content of one settling transaction: a patch for each invoice, and the messages of what follows. Pure. */
export function planSettlement(
  items: readonly SettledCommand[],
  {
    batchId,
    shard,
    settlementId,
    now,
    by,
    followUps,
  }: {
    batchId: string;
    shard: string;
    settlementId: string;
    /** Milliseconds. */
    now: number;
    by: string;
    followUps: FollowUps;
  },
): Writes {
  const at = new Date(now).toISOString();
  return {
    patches: items.map(({ command, settlement, start }) => {
      const entry = { at, by, batchId, settlement: settlementId, ...timelineOf(settlement) };
      const { set, clear } = changeOf(settlement, command, at);
      const change = { set: { ...set, version: formatVersion }, clear, entry };
      return ifClaimedBy(batchId, command.invoiceId, change, start === undefined ? [] : startedAs(start));
    }),
    messages: followUps(
      items.flatMap(({ command, settlement }) => endOf(command, settlement, at)),
      { shard, occasion: settlementId, now },
    ),
  };
}

/** What a settlement writes, apart from the timeline. */
function changeOf(
  settlement: Settlement,
  { payment }: Pick<PaymentCommand, 'payment'>,
  at: string,
): {
  set: { status: InvoiceStatus } & NonNullable<InvoiceChange['set']>;
  clear: ('claim' | 'actionableAt')[];
} {
  switch (settlement.kind) {
    case 'paid': {
      const paid = { ...known(payment), id: settlement.paymentId, paidAt: at };
      const reversals = settlement.reversals && withProviderReversals(undefined, settlement.reversals);
      const gone = reversals && withReversals(reversals, Date.parse(at));
      return { set: { status: 'paid', payment: paid, ...gone?.set }, clear: ['claim', 'actionableAt'] };
    }
    case 'retry': {
      const { payment: next, attempts, at: actionableAt } = settlement;
      return { set: { status: 'pending', payment: next, attempts, actionableAt }, clear: ['claim'] };
    }
    case 'declined': {
      const { reason } = settlement;
      return {
        set: { status: 'declined', reason, declinedAt: at, payment: known(payment) },
        clear: ['claim', 'actionableAt'],
      };
    }
    case 'processing': {
      const { paymentId: id, state } = settlement;
      const inProgress = { id, state, since: at, checks: 0 };
      return {
        set: {
          status: 'processing',
          checkAt: nextCheckAt(0, Date.parse(at)),
          payment: { ...known(payment), inProgress },
        },
        clear: ['claim', 'actionableAt'],
      };
    }
    case 'parked': {
      const { reason, unknown } = settlement;
      const state = unknown ? { payment: unknownSince(payment, at) } : {};
      return { set: { status: 'parked', reason, ...state }, clear: ['claim', 'actionableAt'] };
    }
  }
}

/** What the timeline says of a settlement. */
function timelineOf(settlement: Settlement): { what: string } & Record<string, string> {
  switch (settlement.kind) {
    case 'paid':
      return { what: 'paid', paymentId: settlement.paymentId };
    case 'retry':
      return { what: `retry: ${settlement.why}`, reason: settlement.reason, nextAt: settlement.at };
    case 'processing':
      return { what: 'processing', paymentId: settlement.paymentId, state: settlement.state };
    case 'declined':
    case 'parked':
      return { what: settlement.kind, reason: settlement.reason };
  }
}

function endOf(command: PaymentCommand, settlement: Settlement, at: string): Ending[] {
  const invoice = { ...command, keyNumber: command.payment.keyNumber };
  switch (settlement.kind) {
    case 'retry':
    case 'processing':
      return [];
    case 'paid': {
      const { paymentId, reversals: seen } = settlement;
      const reversals = seen && withProviderReversals(undefined, seen);
      const ends: InvoiceEnd[] = [
        { kind: 'paid', paymentId, paidAt: at },
        ...(reversals === undefined ? [] : newReversals(undefined, reversals, paymentId)),
      ];
      return ends.map((end) => ({ invoice, end }));
    }
    case 'declined':
    case 'parked':
      return [{ invoice, end: settlement }];
  }
}
