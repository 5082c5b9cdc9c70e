import type { Invoice } from '../invoice.ts';
import { atRisk, goneBack } from '../reversals.ts';

/**
 * What a report adds up. `disputed` is every dispute that is open or lost, by the day on which it was opened;
 * `disputeLost` those of them that are lost.
 */
export const movementKinds = ['paid', 'declined', 'refunded', 'disputed', 'disputeLost'] as const;
export type MovementKind = (typeof movementKinds)[number];

/** An amount of one invoice, and when (ISO 8601, UTC) it moved, or was refused. */
export interface Movement {
  kind: MovementKind;
  at: string;
  amountMinor: number;
}

/** What an invoice as it is has to report, of whatever time. Pure. */
export function movementsOf({
  status,
  amountMinor,
  payment,
  declinedAt,
  reversals,
}: Pick<Invoice, 'status' | 'amountMinor'> &
  Partial<Pick<Invoice, 'payment' | 'declinedAt' | 'reversals'>>): Movement[] {
  const disputes = atRisk(reversals?.disputes ?? []);
  const lost = disputes.filter((dispute) => dispute.status === 'lost');
  return [
    ...(payment?.paidAt === undefined ? [] : [{ kind: 'paid' as const, at: payment.paidAt, amountMinor }]),
    ...(status !== 'declined' || declinedAt === undefined
      ? []
      : [{ kind: 'declined' as const, at: declinedAt, amountMinor }]),
    ...goneBack(reversals?.refunds ?? []).map((one) => part('refunded', one)),
    ...disputes.map((one) => part('disputed', one)),
    ...lost.map((one) => part('disputeLost', one)),
  ];
}

function part(kind: MovementKind, { at, amountMinor }: { at: string; amountMinor: number }): Movement {
  return { kind, at, amountMinor };
}
