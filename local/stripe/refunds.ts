import { debitRefundMs } from './bankDebits.ts';
import type { Charge } from './charge.ts';
import { days } from './days.ts';
import type { RecordEvent } from './events.ts';
import { children, type Form, onlyKnown } from './form.ts';
import { newId } from './ids.ts';
import { epochSeconds, type Moment } from './moment.ts';
import { createdSince, pageOf } from './pages.ts';
import type { CallContext } from './paymentIntents.ts';
import { testMethod } from './paymentMethods.ts';
import type { Refund } from './refund.ts';
import { refundAmount, refundableCharge } from './refundable.ts';
import { invalid, notFound } from './refusal.ts';
import { ok, serverError } from './results.ts';
import type { Store } from './store/index.ts';
import type { Result } from './store/keys.ts';
import type { WhenRefunded } from './testMethod.ts';

const createParameters = new Set(['amount', 'charge', 'payment_intent', 'reason']);
const listParameters = new Set(['charge', 'payment_intent', 'limit', 'starting_after', 'created[gte]']);
const reasons = ['duplicate', 'fraudulent', 'requested_by_customer'];

export type Refunds = ReturnType<typeof createRefunds>;

/** The operations on refunds. Call each inside a transaction. All throw {Refusal}. */
export function createRefunds(store: Store, record: RecordEvent) {
  function create(form: Form, { moment, incident, expand }: CallContext): Result {
    onlyKnown(form, createParameters, ['metadata', 'expand']);
    const charge = refundableCharge(store, form);
    const amount = refundAmount(form, charge);
    const reason = form.get('reason') ?? null;
    if (reason !== null && !reasons.includes(reason)) {
      throw invalid('reason', `Invalid reason: must be one of ${reasons.join(', ')}`);
    }
    const plan = planOf(charge, incident === 'refund-fails');
    const refund: Refund = {
      id: newId(charge.payment_method_details.type === 'card' ? 're' : 'pyr'),
      object: 'refund',
      amount,
      charge: charge.id,
      created: epochSeconds(moment),
      currency: charge.currency,
      metadata: children(form, 'metadata'),
      payment_intent: charge.payment_intent,
      ...(plan?.first === 'pending' ? { pending_reason: 'processing' } : {}),
      reason,
      status: plan?.first ?? 'succeeded',
    };
    store.refunds.put(refund, moment.idempotencyKey);
    if (plan !== undefined) {
      const kind = plan.ends === 'failed' ? 'refundFails' : 'refundSucceeds';
      store.due.add(moment.at + plan.afterMs, kind, refund.id);
    }
    const refunded = withRefunded(charge, amount);
    store.charges.put(refunded);
    record('charge.refunded', refunded, moment);
    record('refund.created', refund, moment);
    return incident === '500-after' ? serverError : ok(expand(refund));
  }

  function retrieve(id: string, form: Form, { expand }: CallContext): Result {
    onlyKnown(form, new Set(), ['expand']);
    const refund = store.refunds.get(id);
    if (refund === undefined) throw notFound('refund', id);
    return ok(expand(refund));
  }

  function list(form: Form, { expand }: CallContext): Result {
    onlyKnown(form, listParameters, ['expand']);
    const charge = form.get('charge');
    const all = store.refunds.list(form.get('payment_intent'));
    const found = charge === undefined ? all : all.filter((refund) => refund.charge === charge);
    return ok(expand(pageOf(form, '/v1/refunds', createdSince(form, found))));
  }

  /** The outcome of a refund. One that fails gives its amount back to the charge. */
  function settle(id: string, outcome: 'succeeded' | 'failed', moment: Moment): void {
    const found = store.refunds.get(id);
    if (found === undefined) throw new Error(`no refund ${id}`);
    const { pending_reason: _, ...before } = found;
    if (outcome === 'succeeded') {
      const refund: Refund = { ...before, status: 'succeeded' };
      store.refunds.put(refund);
      record('refund.updated', refund, moment);
      return;
    }
    const charge = store.charges.get(before.charge);
    const isCard = charge?.payment_method_details.type === 'card';
    // The reason of `pm_card_refundFail` (https://docs.stripe.com/testing#refunds).
    const failure_reason = isCard ? 'expired_or_canceled_card' : 'unknown';
    const refund: Refund = { ...before, failure_reason, status: 'failed' };
    store.refunds.put(refund);
    if (charge !== undefined) store.charges.put(withRefunded(charge, -refund.amount));
    record('refund.failed', refund, moment);
  }

  return { create, retrieve, list, settle };
}

/** Plans the later change of the refund. Undefined: it succeeds at once, for good. */
function planOf(charge: Charge, fails: boolean): WhenRefunded | undefined {
  const usual = testMethod(String(charge.payment_method))?.refunded;
  if (!fails) return usual;
  return usual === undefined
    ? { first: 'succeeded', afterMs: days(1), ends: 'failed' }
    : { first: 'pending', afterMs: debitRefundMs, ends: 'failed' };
}

function withRefunded(charge: Charge, amount: number): Charge {
  const refunded = charge.amount_refunded + amount;
  return { ...charge, amount_refunded: refunded, refunded: refunded === charge.amount };
}
