import { describe, expect, test } from 'vitest';
import { isHeld } from '../../src/after/record.ts';
import { recordProgress } from '../../src/after/trackPayment.ts';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { shardOf } from '../../src/invoice/shard.ts';
import { noReversals } from '../../src/paying/mergeReversals.ts';
import { defaultSettlementPolicy as settlement } from '../../src/paying/payingPolicy.ts';
import type { ProviderPayment } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { memoryDocuments } from '../memory/memoryDocuments.ts';
import { memoryInvoiceStore } from '../memory/memoryInvoiceStore.ts';
import { anInstance } from '../support/anInstance.ts';
import { anInvoice } from '../support/anInvoice.ts';
import { followUpsForTests } from '../support/payingWorld.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { virtualClock } from '../support/virtualClock.ts';

const at = '2026-01-05T12:00:00.000Z';
const paid = { keyNumber: 1, declines: 0, deferrals: 0, id: 'pi_1', paidAt: at };
const inProgress = { id: 'pi_1', state: 'processing', since: at, checks: 1 };
const processing = { keyNumber: 1, declines: 0, deferrals: 0, inProgress };

/** Stores an invoice, and records what is seen of its payments; counts the second payments that are reported. */
async function stored(changes: Partial<Invoice>) {
  const clock = virtualClock(Date.parse(at));
  const documents = memoryDocuments();
  const { _etag, ...invoice } = anInvoice({ ...changes, shard: shardOf('inv-1', 4) });
  await documents.transact(invoice.shard, [{ kind: 'create', document: { ...invoice } }]);
  const telemetry = recordedTelemetry();
  const parts = {
    invoices: memoryInvoiceStore(documents, { clock, shards: 4 }),
    followUps: followUpsForTests,
    settlement,
    instance: anInstance({ clock, telemetry }),
  };
  return {
    see: async (paymentId: string) => {
      const { customerId, amountMinor, currency } = invoice;
      const payment: ProviderPayment = {
        kind: 'payment',
        paymentId,
        invoiceId: 'inv-1',
        customerId,
        amountMinor,
        currency,
        progress: { kind: 'succeeded' },
        reversals: noReversals,
      };
      return recordProgress(parts, 'inv-1', payment, () => {});
    },
    seconds: () => telemetry.values(metric.paymentSecond),
  };
}

describe('a payment that is looked into', () => {
  test('is reported once if it is a second one', async () => {
    const { see, seconds } = await stored({ status: 'paid', payment: paid });
    expect(await see('pi_2')).toEqual({ kind: 'changed', status: 'paid' });
    expect(seconds()).toEqual([1]);
    expect(await see('pi_2')).toEqual({ kind: 'nothing' });
    expect(seconds()).toEqual([1]);
  });

  test('is not reported if it pays the invoice', async () => {
    const { see, seconds } = await stored({ status: 'processing', checkAt: at, payment: processing });
    expect(await see('pi_1')).toEqual({ kind: 'changed', status: 'paid' });
    expect(seconds()).toEqual([]);
  });
});

test('a lease counts as held until it says that it is not', () => {
  let held = true;
  const mayCall = isHeld(() => {
    if (!held) throw new Error('the lease is lost');
  });
  expect(mayCall()).toBe(true);
  held = false;
  expect(mayCall()).toBe(false);
});
