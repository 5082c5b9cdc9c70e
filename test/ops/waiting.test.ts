import { expect, test } from 'vitest';
import type { Invoice } from '../../src/invoice/invoice.ts';
import { waitingOf } from '../../src/ops/invoiceView.ts';
import { anInvoice } from '../support/anInvoice.ts';

const at = '2026-01-01T09:00:00.000Z';
const payment = { keyNumber: 1, declines: 0, deferrals: 0 };
const claim = { batchId: 'b', by: 'host-1', runId: 'r', fence: 3, attempt: 1, at };
const imported = { at, what: 'imported', by: 'ada' };
const declined = {
  at,
  what: 'retry: declined',
  by: 'host-1',
  reason: 'insufficient_funds: no money',
  nextAt: at,
};

test.each<[Partial<Invoice>, object | null]>([
  [
    { status: 'pending', actionableAt: at, timeline: [imported] },
    { why: 'its due date', until: at },
  ],
  [
    { status: 'pending', actionableAt: at, timeline: [imported, declined] },
    { why: 'retry: declined: insufficient_funds: no money', until: at },
  ],
  [
    {
      status: 'pending',
      actionableAt: at,
      timeline: [declined, { at, what: 'note', by: 'ada', text: 'rang' }],
    },
    { why: 'retry: declined: insufficient_funds: no money', until: at },
  ],
  [
    { status: 'pending', actionableAt: at, timeline: [declined, { at, what: 'retried', by: 'ada' }] },
    { why: 'its due date', until: at },
  ],
  [
    { status: 'claimed', actionableAt: at, claim: { ...claim, phase: 'claimed' } },
    { why: 'its turn to be paid, claimed by host-1', until: at },
  ],
  [
    { status: 'claimed', actionableAt: at, claim: { ...claim, phase: 'calling' } },
    { why: 'its payment is being made by host-1', until: at },
  ],
  [
    {
      status: 'processing',
      checkAt: at,
      payment: { ...payment, inProgress: { id: 'pi_1', state: 'requires_capture', since: at, checks: 0 } },
    },
    { why: 'its payment is requires_capture at the provider', until: at },
  ],
  [{ status: 'paid' }, null],
  [{ status: 'declined', reason: 'x' }, null],
  [{ status: 'parked', reason: 'x' }, null],
  [{ status: 'voided' }, null],
])('%j waits for %j', (invoice, waiting) => {
  expect(waitingOf(anInvoice(invoice))).toEqual(waiting);
});
