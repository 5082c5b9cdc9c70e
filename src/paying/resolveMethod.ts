import { StoreAway } from '@payonce/jobs/documents';
import type { Instance } from '@payonce/jobs/instance';
import type { Invoice } from '../invoice/invoice.ts';
import { unknownSince } from '../invoice/paymentState.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { type PaymentCommand, withMethod } from './paymentBatch.ts';
import type { PaymentCalls } from './paymentProvider.ts';
import type { CommandOutcome } from './settlement.ts';

/** Outcome for a command whose payment method has to be known. */
type Resolved =
  | { kind: 'resolved'; command: PaymentCommand }
  /** It cannot be charged now, or at all. */
  | { kind: 'none'; outcome: CommandOutcome }
  /** Another claim has the invoice. */
  | { kind: 'lost' }
  /** The store gave no answer. Nothing was charged. */
  | { kind: 'storeAway'; error: StoreAway };

/**
 * The command with the customer's default payment method at the provider, for an invoice without one. It is stored with the key
 * before the first call, because a key may never be sent with another method, even if the customer changes
 * theirs meanwhile. The first to store it wins. A delivery that calls again takes what an earlier one has stored, and from
 * its start on the earlier one stores none: so a method that a call was made with is never overlooked.
 */
export async function resolveMethod(
  parts: MethodParts,
  batchId: string,
  command: PaymentCommand,
): Promise<Resolved> {
  try {
    return await resolve(parts, batchId, command);
  } catch (error) {
    if (error instanceof StoreAway) return { kind: 'storeAway', error };
    throw error;
  }
}

interface MethodParts {
  invoices: Pick<InvoiceStore, 'find' | 'update'>;
  calls: Pick<PaymentCalls, 'defaultMethod'>;
  instance: Pick<Instance, 'clock' | 'name'>;
}

async function resolve(
  { invoices, calls, instance: { clock, name: by } }: MethodParts,
  batchId: string,
  command: PaymentCommand,
): Promise<Resolved> {
  if (command.payment.unknownSince !== undefined) {
    const stored = await invoices.find(command.invoiceId);
    if (stored?.payment.method !== undefined) return { kind: 'resolved', command: withStored(stored) };
  }
  const found = await calls.defaultMethod(command.customerId);
  switch (found.kind) {
    case 'none':
      return {
        kind: 'none',
        outcome: { kind: 'declined', severity: 'hard', code: 'no_payment_method', message: found.message },
      };
    case 'unknown':
      return { kind: 'none', outcome: { ...found, kind: 'transient', code: 'lookup_failed' } };
    case 'notCalled':
    case 'blocked':
      return { kind: 'none', outcome: found };
    case 'method':
      return storeMethod(found.id);
  }

  async function storeMethod(id: string): Promise<Resolved> {
    const payment = { ...command.payment, method: { id, from: 'customer' as const } };
    const resolved = withMethod({ ...command, payment }, id);
    const entry = {
      at: new Date(clock.now()).toISOString(),
      what: 'payment method resolved',
      by,
      batchId,
      method: id,
    };
    const written = await invoices.update<'lost' | Invoice>(command.invoiceId, {
      decide(invoice) {
        const { status, claim } = invoice;
        const held = status === 'claimed' && claim?.batchId === batchId && claim.attempt === command.attempt;
        if (!held) return { kind: 'refuse', why: 'lost' };
        if (invoice.payment.method !== undefined) return { kind: 'refuse', why: invoice };
        return { kind: 'change', change: { set: { payment: resolved.payment }, entry } };
      },
    });
    if (written.kind === 'updated') return { kind: 'resolved', command: resolved };
    if (written.kind === 'notFound' || written.why === 'lost') return { kind: 'lost' };
    return { kind: 'resolved', command: withStored(written.why) };
  }

  /** The command with the payment as it is stored. That calls may have charged is known to the command alone. */
  function withStored({ payment: stored }: Invoice): PaymentCommand {
    const { keyCreatedAt, unknownSince: since } = command.payment;
    const payment = { ...stored, keyCreatedAt: stored.keyCreatedAt ?? keyCreatedAt };
    return { ...command, payment: since === undefined ? payment : unknownSince(payment, since) };
  }
}
