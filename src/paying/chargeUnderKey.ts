import { soughtOf } from './foundPayment.ts';
import { idempotencyKey, isTooOld, methodTypes, paramsHash } from './idempotencyKey.ts';
import { asOutcome, outcomeOfOldKey } from './oldKey.ts';
import { methodOf, type PaymentCommand } from './paymentBatch.ts';
import type { PaymentCalls } from './paymentProvider.ts';
import type { CommandOutcome } from './settlement.ts';

/**
 * Charges one invoice. If its key can tell us no more, because it is too old to be sent or the provider remembers only a
 * failure under it, the payment is looked up instead.
 */
export async function chargeUnderKey(
  calls: Pick<PaymentCalls, 'charge' | 'find'>,
  command: PaymentCommand,
  now: number,
): Promise<CommandOutcome> {
  const { invoiceId, payment } = command;
  const paymentMethod = methodOf(command);
  if (paymentMethod === undefined || payment.paramsHash === undefined) {
    throw new Error(`the payment method of invoice ${invoiceId} was not resolved`);
  }
  if (paramsHash({ ...command, paymentMethod }) !== payment.paramsHash) {
    return { kind: 'keyReused', message: 'the invoice has changed since its key was first used' };
  }
  if (isTooOld(payment.keyCreatedAt, now))
    return outcomeOfOldKey(command, await calls.find(soughtOf(command)));
  const { attempt: _, payment: __, ...charge } = command;
  const outcome = await calls.charge({
    ...charge,
    paymentMethod,
    methodTypes,
    idempotencyKey: idempotencyKey(invoiceId, payment.keyNumber),
  });
  if (outcome.kind !== 'unknown' || outcome.remembered !== true) return outcome;
  // The key will say nothing else for a day. A look-up may: a payment that it finds counts, finding none proves nothing yet.
  const found = await calls.find(soughtOf(command));
  switch (found.kind) {
    case 'notFound':
    case 'notCalled':
    case 'blocked':
    case 'unknown':
      return outcome;
    case 'found':
    case 'processing':
    case 'reversed':
    case 'differs':
      return asOutcome(found);
  }
}
