import pLimit from 'p-limit';
import { nextCheckAt } from '../invoice/checkSchedule.ts';
import type { Invoice } from '../invoice/invoice.ts';
import type { Lease } from '../locking/index.ts';
import { metric } from '../platform/appMetrics.ts';
import { type Tracked, type TrackingParts, trackPayment } from './trackPayment.ts';

const pageSize = 100;
/** Payments that are asked about side by side. */
const atOnce = 8;

export type CheckCounts = Record<Tracked['kind'], number>;

/**
 * Asks the provider about the payments in progress whose next check is due, longest due first, until none is left or
 * `signal` aborts. Everything that is alive ends this way, even if no event ever comes.
 *
 * @throws {LeaseLost} its lease is gone
 */
export async function checkPayments(
  parts: TrackingParts,
  lease: Pick<Lease, 'assertHeld'>,
  signal: AbortSignal,
): Promise<CheckCounts> {
  const { invoices, instance } = parts;
  const { clock, telemetry } = instance;
  const counts: CheckCounts = { changed: 0, nothing: 0, notYet: 0, notOurs: 0, notAsked: 0 };
  const seen = new Set<string>();
  while (!signal.aborted) {
    lease.assertHeld();
    const now = new Date(clock.now()).toISOString();
    const page = await invoices.toCheck({ now, limit: pageSize });
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
    const { inProgress } = invoice.payment;
    if (inProgress === undefined || signal.aborted) return 'nothing';
    const { kind } = await trackPayment(parts, inProgress.id, () => lease.assertHeld());
    if (kind === 'notOurs') await checkLater(invoice);
    return kind;
  }

  /** The provider does not know the payment, as with the key of another account: it is asked again later, and counted. */
  async function checkLater({ id, payment: { inProgress } }: Invoice): Promise<void> {
    const checkAt = nextCheckAt((inProgress?.checks ?? 0) + 1, clock.now());
    const entry = {
      at: new Date(clock.now()).toISOString(),
      what: 'the provider does not know the payment',
      by: instance.name,
    };
    await invoices.update(id, {
      decide: (invoice) =>
        invoice.status === 'processing' && invoice.payment.inProgress?.id === inProgress?.id
          ? { kind: 'change', change: { set: { checkAt }, entry } }
          : { kind: 'refuse', why: 'moved on' },
      beforeTry: () => lease.assertHeld(),
    });
  }
}
