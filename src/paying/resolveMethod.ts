import { StoreAway } from '../documents/documentStore.ts';
import { type Invoice, unknownSince } from '../invoice/invoice.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import type { Instance } from '../platform/instance.ts';
import type { CommandOutcome } from './decideSettlement.ts';
import { methodOf, type PaymentCommand, withMethod } from './paymentBatch.ts';
import type { PaymentCalls } from './paymentProvider.ts';

/** What becomes of a command whose payment method has to be known. */
export type Resolved =
  | { kind: 'resolved'; command: PaymentCommand }
  /** It cannot be charged now, or at all. */
  | { kind: 'none'; outcome: CommandOutcome }
  /** Another claim has the invoice. */
  | { kind: 'lost' }
  /** The store gave no answer. Nothing was charged. */
  | { kind: 'storeAway'; error: StoreAway };

/**
 * The command with its payment method: the invoice's own, or the customer's default at the provider. A default is stored
 * with the key before the first call, because a key may never be sent with another method, even if the customer changes
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
  if (methodOf(command) !== undefined) return { kind: 'resolved', command };
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
    case 'heldBack':
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
