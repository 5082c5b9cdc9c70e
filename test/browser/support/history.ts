import type { RunRecord } from '../../../packages/jobs/src/runs/runRecord.ts';
import type { Invoice } from '../../../src/invoice/invoice.ts';
import { shardOf } from '../../../src/invoice/shard.ts';
import { anInvoice } from '../../support/anInvoice.ts';
import { seededRandom } from '../../support/seededRandom.ts';

const customers = [
  ['cus_AtelierMoreau', 'EUR'],
  ['cus_HarborStreetDental', 'USD'],
  ['cus_RioVerdeCoffee', 'BRL'],
  ['cus_KitanoBooks', 'JPY'],
  ['cus_MapleRidgeVet', 'CAD'],
  ['cus_CarthagePottery', 'TND'],
] as const;

const hourMs = 3_600_000;

/** Invoices that were paid in the 23 hours before `now`, more of them by day than by night. */
export function paidBefore(now: number): Invoice[] {
  const random = seededRandom(18);
  const invoices: Invoice[] = [];
  for (let hour = 23; hour >= 1; hour--) {
    const time = new Date(now - hour * hourMs);
    const busy = Math.max(0.12, Math.sin(((time.getUTCHours() - 5) / 24) * 2 * Math.PI));
    const count = Math.round(busy * 60 * (0.7 + 0.6 * random.next()));
    for (let n = 0; n < count; n++) {
      const [customerId, currency] = random.pick(customers);
      const at = new Date(time.getTime() + random.between(0, 1_800_000)).toISOString();
      const id = `INV-2026-${String(4000 + invoices.length)}`;
      const { actionableAt: _, ...paid } = anInvoice({
        id,
        shard: shardOf(id, 16),
        customerId,
        currency,
        amountMinor: random.between(1_500, 91_500),
        status: 'paid',
        dueAt: new Date(Date.parse(at) - 60_000).toISOString(),
        createdAt: new Date(now - 3 * 24 * hourMs).toISOString(),
        attempts: 1,
        payment: { keyNumber: 1, declines: 0, deferrals: 0, id: `pi_${id}`, paidAt: at },
        timeline: [
          { at: new Date(now - 3 * 24 * hourMs).toISOString(), what: 'imported', by: 'ana@example.com' },
          { at, what: 'paid', by: 'host-2', paymentId: `pi_${id}` },
        ],
      });
      invoices.push(paid);
    }
  }
  return invoices;
}

/** A run whose host died: one of its groups lost its lease. */
export function failedRun(now: number): RunRecord {
  const at = (ms: number) => new Date(now - ms).toISOString();
  const group = (fence: number, claimed: number) => ({
    status: 'completed' as const,
    lockOwner: 'host-2',
    fence,
    counts: { claimed, contended: 0 },
  });
  return {
    id: '5f2d8c1e-0b5a-4c7e-9a3f-6d1b2c3a4e5f',
    job: 'process-invoices',
    trigger: 'timer',
    status: 'failed',
    dryRun: false,
    startedAt: at(7_200_000),
    completedAt: at(7_140_000),
    heartbeatAt: at(7_150_000),
    lockOwner: 'host-3',
    fence: 41,
    reason: 'lost: the lease was taken over by host-1',
    groups: {
      '0': group(38, 96),
      '1': group(39, 81),
      '2': {
        status: 'lost',
        lockOwner: 'host-3',
        fence: 41,
        counts: { claimed: 112 },
        reason: 'the lease was taken over by host-1',
      },
      '3': group(40, 90),
    },
  };
}
