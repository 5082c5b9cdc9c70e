import { idempotencyKey, type PaymentCommand, paramsHash } from '../invoices/command.ts';
import type { CommandOutcome } from './decideSettlement.ts';
import type { PaymentProvider } from './provider.ts';

/**
 * A key older than this is never sent again. Stripe keeps the result of a key at least 24 h
 * (https://docs.stripe.com/api/idempotent_requests): past that, sending it would be a new charge. Milliseconds.
 */
const maxKeyAgeMs = 23 * 3600 * 1000;

/** Charges one invoice, or finds out what became of an earlier charge whose key is too old to be sent. */
export async function pay(
  provider: PaymentProvider,
  command: PaymentCommand,
  now: number,
): Promise<CommandOutcome> {
  const { invoiceId, payment } = command;
  if (paramsHash(command) !== payment.paramsHash) {
    return { kind: 'keyReused', message: 'the invoice has changed since its key was first used' };
  }
  if (now - Date.parse(payment.keyCreatedAt) > maxKeyAgeMs) {
    const found = await provider.find(invoiceId);
    switch (found.kind) {
      case 'found':
        return { kind: 'succeeded', paymentId: found.paymentId };
      case 'notFound':
        return { kind: 'unclear', message: 'the key is older than 23 h and the provider finds no payment' };
      case 'unknown':
        return { kind: 'transient', code: 'lookup_failed', message: found.message };
    }
  }
  const { customerId, amountMinor, currency, paymentMethod, description } = command;
  return provider.charge({
    invoiceId,
    customerId,
    amountMinor,
    currency,
    paymentMethod,
    ...(description === undefined ? {} : { description }),
    idempotencyKey: idempotencyKey(invoiceId, payment.keyNumber),
  });
}
