import { createHash } from 'node:crypto';
import { methodOf, methodTypes, type PaymentCommand, paramsHash } from './paymentBatch.ts';
import type { FoundPayment, NotCalled, PaymentCalls, SoughtPayment } from './paymentProvider.ts';
import type { CommandOutcome } from './settlement.ts';

/**
 * The idempotency key of an invoice's charge number `n`. A header takes ASCII only and Stripe at most 255 characters
 * (https://docs.stripe.com/api/idempotent_requests), so other ids are replaced by their hash.
 */
export function idempotencyKey(invoiceId: string, n: number): string {
  const plain = /^[\x21-\x7e]{1,200}$/.test(invoiceId);
  return `invoice-${plain ? invoiceId : createHash('sha256').update(invoiceId).digest('base64url')}-${n}`;
}

/**
 * A key older than this (milliseconds) is never sent again. Stripe keeps the result of a key for at least 24 h
 * (https://docs.stripe.com/api/idempotent_requests); after that, sending it would be a new charge.
 */
const maxKeyAgeMs = 23 * 3600 * 1000;

/** True if an idempotency key first claimed at `createdAt` (ISO 8601) may no longer be sent at `now` (milliseconds). */
export function isTooOld(createdAt: string, now: number): boolean {
  return now - Date.parse(createdAt) > maxKeyAgeMs;
}

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
  if (isTooOld(payment.keyCreatedAt, now)) {
    const found = await calls.find(soughtOf(command));
    switch (found.kind) {
      case 'notFound':
        if (found.unlisted !== undefined) return withoutList(command, found.unlisted);
        return payment.unknownSince === undefined ? { kind: 'unused' } : { kind: 'noneFound' };
      case 'notCalled':
      case 'blocked':
        return found;
      case 'unknown':
        return { kind: 'transient', code: 'lookup_failed', message: found.message };
      case 'found':
      case 'processing':
      case 'reversed':
      case 'differs':
        return asOutcome(found);
    }
  }
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

/** Builds the criteria that a payment must match to be the payment of this invoice. */
export function soughtOf({
  invoiceId,
  amountMinor,
  currency,
  customerId,
  payment,
}: Omit<SoughtPayment, 'since' | 'until'> & { payment: { keyCreatedAt?: string } }): SoughtPayment {
  const since = payment.keyCreatedAt;
  const sought = { invoiceId, amountMinor, currency, customerId };
  return since === undefined ? sought : { ...sought, since, until: lastCallOf(since) };
}

/** The time after which a key that was first claimed at `createdAt` is never sent. ISO 8601, both. */
function lastCallOf(createdAt: string): string {
  return new Date(Date.parse(createdAt) + maxKeyAgeMs).toISOString();
}

/** Nothing can be charged, and nothing proves that nothing was: a person decides. */
function withoutList(
  { customerId }: PaymentCommand,
  why: NonNullable<Extract<FoundPayment, { kind: 'notFound' }>['unlisted']>,
): CommandOutcome {
  const what = {
    deleted: `customer ${customerId} was deleted at the provider`,
    unknown: `the provider does not know customer ${customerId}`,
    tooMany: `customer ${customerId} has too many payments at the provider to look for one`,
  }[why];
  const message = `${what}: void the invoice, or retry it with notCharged`;
  return { kind: 'unclear', message };
}

/** Converts a payment that was found into the outcome of the command. */
function asOutcome(
  found: Exclude<FoundPayment | NotCalled, { kind: 'notFound' | 'notCalled' | 'blocked' | 'unknown' }>,
): CommandOutcome {
  switch (found.kind) {
    case 'found':
      return { ...found, kind: 'succeeded' };
    case 'differs':
      return { kind: 'unclear', message: found.message };
    case 'processing':
    case 'reversed':
      return found;
  }
}
