import { inSpan, type SpanEnd } from '../platform/tracing.ts';
import type { PaymentBatch, PaymentCommand } from './paymentBatch.ts';
import type { SettledCommand } from './planSettlement.ts';

/** What is to be written of a command. */
export type Ended = Settled | { kind: 'notCalled'; command: PaymentCommand };

interface Settled {
  kind: 'settled';
  one: SettledCommand;
  /** Whether the provider has said what became of the key. */
  ofKey: boolean;
}

/**
 * Pays one invoice in a span. A later claim of an invoice belongs to the trace of a later run: its span links to the trace in
 * which the invoice was claimed first.
 */
export function inPaymentSpan(
  { batchId, runId }: PaymentBatch,
  { invoiceId, attempt, payment, firstTrace }: PaymentCommand,
  pay: () => Promise<Ended | undefined>,
): Promise<Ended | undefined> {
  const attributes = {
    'invoice.id': invoiceId,
    'batch.id': batchId,
    'run.id': runId,
    'invoice.attempt': attempt,
    'payment.key_number': payment.keyNumber,
  };
  const links = firstTrace === undefined ? {} : { links: [firstTrace] };
  return inSpan('pay invoice', { attributes, ...links }, pay, endOf);
}

/** Sampling keeps every span that has failed: here, whatever leaves the invoice unpaid though it was called. */
function endOf(ended: Ended | undefined): SpanEnd {
  if (ended === undefined) return { attributes: { 'payment.result': 'claimLost' } };
  if (ended.kind === 'notCalled') return { attributes: { 'payment.result': 'notCalled' } };
  const { settlement } = ended.one;
  const result = settlement.kind === 'retry' ? `retry:${settlement.why}` : settlement.kind;
  const fine = ['paid', 'processing', 'retry:noTurn'].includes(result);
  return { attributes: { 'payment.result': result }, failed: fine ? undefined : result };
}
