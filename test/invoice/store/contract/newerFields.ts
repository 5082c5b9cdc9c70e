import { describe, expect, test } from 'vitest';
import { retryInvoice } from '../../../../src/after/retryInvoice.ts';
import { claimBatch } from '../../../../src/claiming/claimBatch.ts';
import { followUpsOf } from '../../../../src/invoice/followUps.ts';
import type { Invoice } from '../../../../src/invoice/invoice.ts';
import { firstPaymentState } from '../../../../src/invoice/paymentState.ts';
import { startPart } from '../../../../src/paying/payBatch.ts';
import { parseBatch } from '../../../../src/paying/paymentBatch.ts';
import { planSettlement, type Settlement } from '../../../../src/paying/settlement.ts';
import { aClaimedInvoice, anInvoice } from '../../../support/anInvoice.ts';
import { correctionParts } from '../../../support/correctionParts.ts';
import { fence, type InvoiceContract, shard } from './world.ts';

/** Tests that an older process leaves newer fields alone. */
export function newerFieldsContract({ world }: InvoiceContract): void {
  describe('fields of a newer minor release', () => {
    const settlements: Settlement[] = [
      { kind: 'paid', paymentId: 'pi_1' },
      { kind: 'declined', reason: 'stolen card' },
      { kind: 'parked', reason: 'who knows', unknown: true },
      { kind: 'parked', reason: 'who knows', unknown: false },
      {
        kind: 'retry',
        why: 'transient',
        at: '2026-07-01T00:00:00.000Z',
        reason: 'down',
        attempts: 1,
        // That of the command: see below.
        payment: firstPaymentState,
      },
    ];

    test.each(settlements)(
      'survive a claim, its start, its settlement ($kind) and a retry',
      async (settlement) => {
        const { invoices, put, due, touch, read, clock } = await world();
        const newer = { newer: { at: 'the top' }, payment: { ...anInvoice().payment, newer: 'payment' } };
        await put({ id: 'inv-1', ...newer });
        const followUps = followUpsOf([]);
        const lease = { key: fence.lockKey, fence: fence.token, assertHeld() {} };
        const run = { runId: 'run-1', instance: 'host-a', lease };
        const parts = { invoices, followUps, claimStaleMs: 300_000 };
        const { message } = await claimBatch(parts, shard, await due(), run);
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
        });
        await touch('inv-1', { 'claim.newer': 'claim' });
        const batch = parseBatch(message?.body);
        const whole = { commands: batch.commands, earlier: new Map(), alone: false };
        const { toPay } = await startPart(invoices, batch, whole, {
          claimStaleMs: 300_000,
          by: 'host-a',
        });
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          claim: { newer: 'claim', phase: 'calling' },
        });
        const batchId = batch.batchId;
        const settling = { shard, batchId, settlementId: 's1', now: clock.now(), by: 'host-a', followUps };
        const items = toPay.map((command) => ({
          invoiceId: command.invoiceId,
          amountMinor: command.amountMinor,
          currency: command.currency,
          command,
          settlement: settlement.kind === 'retry' ? { ...settlement, payment: command.payment } : settlement,
        }));
        await invoices.settle({ ...settling, items, plan: (left) => planSettlement(left, settling) });
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          status: settlement.kind === 'retry' ? 'pending' : settlement.kind,
        });
        if (settlement.kind !== 'declined' && settlement.kind !== 'parked') return;
        expect(
          await retryInvoice(correctionParts({ invoices, clock }), 'inv-1', { actor: 'ops' }),
        ).toMatchObject({
          kind: 'retried',
        });
        expect((await read('inv-1'))[0]).toMatchObject({
          newer: { at: 'the top' },
          payment: { newer: 'payment' },
          status: 'pending',
        });
      },
    );

    test('survive a claim that goes stale', async () => {
      const { due, put, claim, read } = await world();
      const payment = { ...anInvoice().payment, newer: 'payment' };
      await put({ ...aClaimedInvoice({ id: 'inv-1', payment }), newer: true } as Partial<Invoice>);
      await claim('b2', await due());
      expect((await read('inv-1'))[0]).toMatchObject({
        newer: true,
        payment: { newer: 'payment' },
        claim: { batchId: 'b2' },
      });
    });
  });
}
