import type { Claim, Invoice } from '../../src/invoice/invoice.ts';

/** A pending invoice that was due at noon; a test overrides what matters to it. */
export function anInvoice(changes: Partial<Invoice> = {}): Invoice {
  return {
    id: 'inv-1',
    customerId: 'cus-1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2026-01-01T12:00:00.000Z',
    paymentMethod: 'pm_card_visa',
    shard: '00',
    type: 'invoice',
    status: 'pending',
    actionableAt: '2026-01-01T12:00:00.000Z',
    createdAt: '2025-12-01T00:00:00.000Z',
    attempts: 0,
    payment: { keyNumber: 1, declines: 0, deferrals: 0 },
    timeline: [{ at: '2025-12-01T00:00:00.000Z', what: 'imported', by: 'test' }],
    _etag: '"e1"',
    ...changes,
  };
}

/** The same invoice, claimed by batch `b1` of instance `host-a`; stale from `actionableAt` on. */
export function aClaimedInvoice(
  changes: Partial<Invoice> = {},
  { phase }: Pick<Claim, 'phase'> = { phase: 'calling' },
): Invoice {
  const { attempts = 1 } = changes;
  return anInvoice({
    status: 'claimed',
    attempts,
    claim: {
      batchId: 'b1',
      by: 'host-a',
      runId: 'run-1',
      fence: 3,
      attempt: attempts,
      at: '2026-01-01T12:00:01.000Z',
      phase,
    },
    actionableAt: '2026-01-01T12:05:01.000Z',
    ...changes,
  });
}
