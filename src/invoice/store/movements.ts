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
  currency: string;
}

/** All movements of an invoice as it is. Pure. */
export function movementsOf({
  status,
  amountMinor,
  currency,
  payment,
  declinedAt,
  reversals,
}: Pick<Invoice, 'status' | 'amountMinor' | 'currency'> &
  Partial<Pick<Invoice, 'payment' | 'declinedAt' | 'reversals'>>): Movement[] {
  const disputes = atRisk(reversals?.disputes ?? []);
  const lost = disputes.filter((dispute) => dispute.status === 'lost');
  const part = (
    kind: MovementKind,
    at: string,
    of: { amountMinor: number; currency?: string },
  ): Movement => ({
    kind,
    at,
    amountMinor: of.amountMinor,
    currency: of.currency ?? currency,
  });
  return [
    ...(payment?.paidAt === undefined ? [] : [part('paid', payment.paidAt, { amountMinor })]),
    ...(status !== 'declined' || declinedAt === undefined
      ? []
      : [part('declined', declinedAt, { amountMinor })]),
    ...(reversals?.payments ?? []).map((one) => part('paid', one.at, one)),
    ...goneBack(reversals?.refunds ?? []).map((one) => part('refunded', one.at, one)),
    ...disputes.map((one) => part('disputed', one.at, one)),
    ...lost.map((one) => part('disputeLost', one.at, one)),
  ];
}
