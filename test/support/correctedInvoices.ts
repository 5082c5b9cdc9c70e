import { retryInvoice } from '../../src/after/retryInvoice.ts';
import { voidInvoice } from '../../src/after/voidInvoice.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { idempotencyKey } from '../../src/paying/idempotencyKey.ts';
import type { longPayments } from './longPayments.ts';

type LongPayments = Awaited<ReturnType<typeof longPayments>>;

/** Actions of a person on the invoices of a world whose payments take days. */
export function correctedInvoices(app: LongPayments) {
  const { parts, world, provider, clock } = app;
  const actor = 'ada';
  return {
    void: (id: string, reason = 'sent by mistake', changed: Partial<typeof parts> = {}) =>
      voidInvoice({ ...parts, ...changed }, id, { actor, reason }),
    retry: (
      id: string,
      wish: Omit<Parameters<typeof retryInvoice>[2], 'actor'> = {},
      changed: Partial<typeof parts> = {},
    ) => retryInvoice({ ...parts, ...changed }, id, { actor, ...wish }),

    /**
     * An invoice of which the app knows less than there is, as a crash leaves it: it was claimed, perhaps
     * charged, and parked. `charged`: the payment method that was charged under its key.
     */
    async parked({ charged, ...changes }: Partial<Invoice> & { charged?: string } = {}) {
      const made = await app.invoice(
        charged === undefined ? changes : { ...changes, paymentMethod: charged },
      );
      const at = new Date(clock.now()).toISOString();
      const { amountMinor, currency, customerId } = await made.stored();
      const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt: at, unknownSince: at };
      const call = () =>
        provider.charge({
          invoiceId: made.id,
          amountMinor,
          currency,
          customerId,
          paymentMethod: charged ?? 'pm_card_visa',
          methodTypes: ['card', 'sepa_debit', 'us_bank_account', 'bacs_debit'],
          idempotencyKey: idempotencyKey(made.id, 1),
        });
      const outcome = charged === undefined ? undefined : await call();
      const timeline = [
        { at: '2025-12-01T00:00:00.000Z', what: 'imported', by: 'test' },
        { at, what: 'claimed', by: 'host-a', batchId: 'b1' },
        { at, what: 'parked', by: 'host-a', batchId: 'b1', reason: 'the outcome is still unknown' },
      ];
      await world.container.item(made.id, made.shard).patch([
        { op: 'set', path: '/status', value: 'parked' },
        { op: 'set', path: '/reason', value: 'the outcome is still unknown' },
        { op: 'set', path: '/payment', value: payment },
        { op: 'set', path: '/timeline', value: timeline },
        { op: 'remove', path: '/actionableAt' },
      ]);
      const paymentId = outcome !== undefined && 'paymentId' in outcome ? outcome.paymentId : '';
      return { ...made, paymentId, /** The call of a process that stood still. */ lateCall: call };
    },
  };
}
