import type { CommandOutcome } from './decideSettlement.ts';
import { idempotencyKey, isTooOld } from './idempotencyKey.ts';
import { type PaymentCommand, paramsHash } from './paymentBatch.ts';
import type { PaymentProvider } from './paymentProvider.ts';

/**
 * Charges one invoice. If its key can tell nothing more, because it is too old to be sent or the provider remembers only a
 * failure under it, the payment is looked up instead.
 */
export async function payInvoice(
  provider: PaymentProvider,
  command: PaymentCommand,
  now: number,
): Promise<CommandOutcome> {
  const { invoiceId, payment } = command;
  if (paramsHash(command) !== payment.paramsHash) {
    return { kind: 'keyReused', message: 'the invoice has changed since its key was first used' };
  }
  if (isTooOld(payment.keyCreatedAt, now)) {
    const found = await provider.find(command);
    switch (found.kind) {
      case 'found':
        return { kind: 'succeeded', paymentId: found.paymentId };
      case 'notFound':
        return payment.unknownSince === undefined
          ? { kind: 'unused' }
          : { kind: 'unclear', message: 'the key is older than 23 h and the provider finds no payment' };
      case 'differs':
        return { kind: 'unclear', message: found.message };
      case 'unknown':
        return { kind: 'transient', code: 'lookup_failed', message: found.message };
    }
  }
  const { customerId, amountMinor, currency, paymentMethod, description } = command;
  const outcome = await provider.charge({
    invoiceId,
    customerId,
    amountMinor,
    currency,
    paymentMethod,
    ...(description === undefined ? {} : { description }),
    idempotencyKey: idempotencyKey(invoiceId, payment.keyNumber),
  });
  if (outcome.kind !== 'unknown' || outcome.remembered !== true) return outcome;
  // The key will say nothing else for a day. A look-up may: a payment that it finds counts, finding none proves nothing yet.
  const found = await provider.find(command);
  if (found.kind === 'differs') return { kind: 'unclear', message: found.message };
  return found.kind === 'found' ? { kind: 'succeeded', paymentId: found.paymentId } : outcome;
}
