import type { Charge } from './charge.ts';
import type { Dispute, DisputeStatus } from './dispute.ts';
import type { RecordEvent } from './events.ts';
import { newId } from './ids.ts';
import { epochSeconds, type Moment } from './moment.ts';
import type { Store } from './store/index.ts';
import type { OpensDispute } from './testMethod.ts';

export type OpenDispute = (
  charge: Charge,
  dispute: OpensDispute & { amount?: number },
  moment: Moment,
) => Dispute;

const closed: ReadonlySet<DisputeStatus> = new Set(['won', 'lost', 'warning_closed']);
const takesMoney = (status: DisputeStatus) => !status.startsWith('warning_');

/** Time that a dispute takes evidence (s). */
const evidenceSeconds = 9 * 86_400;

/** Opens disputes and moves them on. Call inside a transaction. */
export function createDisputes(store: Store, record: RecordEvent) {
  /**
   * A dispute of a bank debit is final: "there is no process for appeal"
   * (https://docs.stripe.com/payments/sepa-debit#disputed-payments), so it is lost at once.
   */
  const open: OpenDispute = (charge, { reason, inquiry, amount = charge.amount }, moment) => {
    const dispute: Dispute = {
      id: newId('du'),
      object: 'dispute',
      amount,
      charge: charge.id,
      created: epochSeconds(moment),
      currency: charge.currency,
      evidence_details: { due_by: epochSeconds(moment) + evidenceSeconds },
      is_charge_refundable: inquiry,
      livemode: false,
      metadata: {},
      payment_intent: charge.payment_intent,
      reason,
      status: inquiry ? 'warning_needs_response' : 'needs_response',
    };
    store.disputes.put(dispute, moment.idempotencyKey);
    store.charges.put({ ...charge, disputed: true });
    record('charge.dispute.created', dispute, moment);
    if (!inquiry) record('charge.dispute.funds_withdrawn', dispute, moment);
    return charge.payment_method_details.type === 'card' ? dispute : move(dispute, 'lost', moment);
  };

  /** An inquiry that comes to need a response has escalated to a chargeback. */
  function move(before: Dispute, status: DisputeStatus, moment: Moment): Dispute {
    const dispute: Dispute = {
      ...before,
      status,
      is_charge_refundable: status === 'won' || !takesMoney(status),
    };
    store.disputes.put(dispute);
    record(closed.has(status) ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute, moment);
    const withdraws = takesMoney(status) && !takesMoney(before.status);
    if (withdraws) record('charge.dispute.funds_withdrawn', dispute, moment);
    if (status === 'won') record('charge.dispute.funds_reinstated', dispute, moment);
    return dispute;
  }

  return { open, move, isClosed: ({ status }: Dispute) => closed.has(status) };
}
