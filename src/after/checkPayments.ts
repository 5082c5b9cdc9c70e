import type { Lease } from '@payonce/leases';
import pLimit from 'p-limit';
import type { Invoice } from '../invoice/invoice.ts';
import { nextCheckAt, reversalsCheckAt } from '../invoice/nextCheck.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { metric } from '../platform/appMetrics.ts';
import { type AfterParts, record } from './record.ts';
import { type Tracked, trackPayment } from './trackPayment.ts';

const pageSize = 100;
/** Payments that are asked about side by side. */
const atOnce = 8;

export type CheckParts = AfterParts & { invoices: Pick<InvoiceStore, 'toCheck'> };

/**
 * Asks the provider about the payments whose next check is due, longest due first: those in progress, and those with refunds or
 * disputes that are not decided. All of that ends this way, even if no event ever comes. @throws {LeaseLost}
 */
export async function checkPayments(
  parts: CheckParts,
  lease: Pick<Lease, 'assertHeld'>,
  signal: AbortSignal,
): Promise<Record<Tracked['kind'], number>> {
  const { clock, telemetry } = parts.instance;
  const counts: Record<Tracked['kind'], number> = {
    changed: 0,
    nothing: 0,
    unsettled: 0,
    notOurs: 0,
    notHere: 0,
    notAsked: 0,
  };
  const seen = new Set<string>();
  while (!signal.aborted) {
    lease.assertHeld();
    const now = new Date(clock.now()).toISOString();
    const page = await parts.invoices.toCheck({ now, limit: pageSize });
    const fresh = page.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    if (fresh.length === 0) break;
    const limit = pLimit(atOnce);
    const checked = await Promise.all(fresh.map((invoice) => limit(() => check(invoice))));
    for (const kind of checked) {
      counts[kind]++;
      telemetry.count(metric.paymentChecked, { outcome: kind });
    }
    // While the provider cannot be asked, every payment would say so.
    if (checked.every((kind) => kind === 'notAsked')) break;
  }
  return counts;

  async function check(invoice: Invoice): Promise<Tracked['kind']> {
    const kinds: Tracked['kind'][] = [];
    for (const paymentId of paymentsToCheck(invoice)) {
      if (signal.aborted) break;
      kinds.push((await trackPayment(parts, paymentId, () => lease.assertHeld())).kind);
      if (kinds.includes('notAsked')) return 'notAsked';
    }
    const [ofItsPayment = 'nothing'] = kinds;
    if (ofItsPayment === 'notOurs' || ofItsPayment === 'nothing') await checkLater(invoice, ofItsPayment);
    return ofItsPayment;
  }

  /** Sets the next check of a payment of which the provider has nothing to tell, or which it does not know. */
  async function checkLater(read: Invoice, why: 'notOurs' | 'nothing'): Promise<void> {
    const what = why === 'notOurs' ? 'the provider does not know the payment' : 'nothing new at the provider';
    await record<{ kind: 'movedOn' }>(
      parts,
      read.id,
      ({ checkAt: due, status, payment, reversals }, now) => {
        if (due !== read.checkAt || status !== read.status) return { kind: 'movedOn' };
        const checkAt =
          payment.inProgress === undefined
            ? reversalsCheckAt(reversals ?? { refunds: [], disputes: [] }, now)
            : nextCheckAt(payment.inProgress.checks + 1, now);
        const change = checkAt === undefined ? { clear: ['checkAt'] as const } : { set: { checkAt } };
        return { kind: 'change', change, entry: { what } };
      },
      () => lease.assertHeld(),
    );
  }
}

/** Payments that the provider is asked about for an invoice: its own, then second ones of which something is not decided. Pure. */
export function paymentsToCheck({ status, payment, reversals }: Invoice): string[] {
  if (status === 'processing') return payment.inProgress === undefined ? [] : [payment.inProgress.id];
  if (status !== 'paid' || payment.id === undefined) return [];
  const { refunds = [], disputes = [] } = reversals ?? {};
  const open = [...refunds, ...disputes].filter(
    ({ status: one }) => one === 'requested' || one === 'pending' || one === 'open',
  );
  return [...new Set([payment.id, ...open.flatMap(({ paymentId }) => paymentId ?? [])])];
}
