import type { Invoice, TimelineEntry } from '../invoice/invoice.ts';

/** Why nothing happens to an invoice at the moment, and when something does: ISO 8601. */
export interface Waiting {
  why: string;
  until: string | null;
}

/** What an invoice waits for; null if it has ended, or if a person has to look at it. Pure. */
export function waitingOf({
  status,
  actionableAt,
  checkAt,
  claim,
  payment,
  timeline,
}: Invoice): Waiting | null {
  const until = actionableAt ?? null;
  switch (status) {
    case 'pending':
      return { why: retryReason(timeline.at(-1)) ?? 'its due date', until };
    case 'claimed':
      return claim?.phase === 'calling'
        ? { why: `its payment is being made by ${claim.by}`, until }
        : { why: `its turn to be paid, claimed by ${claim?.by ?? 'somebody'}`, until };
    case 'processing':
      return {
        why: `its payment is ${payment.inProgress?.state ?? 'alive'} at the provider`,
        until: checkAt ?? null,
      };
    case 'paid':
    case 'declined':
    case 'parked':
    case 'voided':
      return null;
  }
}

/** The timeline says why a payment is tried again (paying/planSettlement.ts). */
function retryReason(last: TimelineEntry | undefined): string | undefined {
  if (last === undefined || !last.what.startsWith('retry: ')) return undefined;
  return typeof last.reason === 'string' ? `${last.what}: ${last.reason}` : last.what;
}
