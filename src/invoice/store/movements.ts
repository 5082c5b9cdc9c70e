import { z } from 'zod';
import { isNewer, NewerVersion } from '../../documents/storedDocuments.ts';
import { type Invoice, invoiceSchema } from '../invoice.ts';
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
  currency: string;
  amountMinor: number | bigint;
  /** It is the sum of so many. Absent: 1. */
  count?: number;
}

export interface MovementQuery {
  /** The first moment that counts, and the first that does not: ISO 8601, UTC, with milliseconds. */
  from: string;
  to: string;
  /** ISO 4217 code. Absent: all currencies. */
  currency?: string;
}

/** Why an invoice may have something to report: the store has a query for each. */
export type Occasion = 'paid' | 'declined' | 'reversed';

const { id, version, currency, payment, declinedAt, reversals } = invoiceSchema.shape;
const common = z.object({ id, version, currency, amountMinor: z.int() });
const paidSchema = common.extend({ payment: payment.pick({ paidAt: true }).required() });
const declinedSchema = common.extend({ declinedAt: declinedAt.unwrap() });
const reversedSchema = common.extend({ reversals: reversals.unwrap() });

/**
 * What the invoices that a query found have to report of its time. A report must not leave one out in silence, so one of a
 * newer release is an error, and so is one that cannot be read. Pure. @throws {NewerVersion} {UnreadableInvoice}
 */
export function movementsOf(
  occasion: Occasion,
  documents: readonly unknown[],
  { from, to, currency: only }: MovementQuery,
): Movement[] {
  return documents.flatMap((document) => {
    if (isNewer(document)) throw new NewerVersion(`invoice ${nameOf(document)}`);
    try {
      return movementsOfOne(occasion, document).filter(
        ({ at, currency: its }) => at >= from && at < to && (only === undefined || its === only),
      );
    } catch (cause) {
      throw new UnreadableInvoice(nameOf(document), { cause });
    }
  });
}

/** No report can be made: what it leaves out would be missing from the totals. */
export class UnreadableInvoice extends Error {
  override readonly name = 'UnreadableInvoice';

  constructor(invoice: string, options: ErrorOptions) {
    super(`invoice ${invoice} cannot be read, so the totals would lack it`, options);
  }
}

function movementsOfOne(occasion: Occasion, document: unknown): Movement[] {
  switch (occasion) {
    case 'paid': {
      const { payment, ...invoice } = paidSchema.parse(document);
      return [whole('paid', invoice, payment.paidAt)];
    }
    case 'declined': {
      const invoice = declinedSchema.parse(document);
      return [whole('declined', invoice, invoice.declinedAt)];
    }
    case 'reversed': {
      const { currency, reversals } = reversedSchema.parse(document);
      const refunds = goneBack(reversals.refunds);
      const disputes = atRisk(reversals.disputes);
      const lost = disputes.filter(({ status }) => status === 'lost');
      return [
        ...(reversals.payments ?? []).map((one) => part('paid', one)),
        ...refunds.map((one) => part('refunded', one)),
        ...disputes.map((one) => part('disputed', one)),
        ...lost.map((one) => part('disputeLost', one)),
      ];

      function part(
        kind: MovementKind,
        one: { at: string; amountMinor: number; currency?: string },
      ): Movement {
        return { kind, at: one.at, currency: one.currency ?? currency, amountMinor: one.amountMinor };
      }
    }
  }
}

/**
 * What an invoice as it is has to report, of whatever time. Pure. @throws {UnreadableInvoice}
 */
export function movementsOfInvoice(
  invoice: Partial<Pick<Invoice, 'id' | 'status' | 'payment' | 'declinedAt' | 'reversals'>>,
): Movement[] {
  const { status, payment, declinedAt, reversals } = invoice;
  const occasions: Occasion[] = [
    ...(payment?.paidAt === undefined ? [] : ['paid' as const]),
    ...(status === 'declined' && declinedAt !== undefined ? ['declined' as const] : []),
    ...(reversals === undefined ? [] : ['reversed' as const]),
  ];
  try {
    return occasions.flatMap((occasion) => movementsOfOne(occasion, invoice));
  } catch (cause) {
    throw new UnreadableInvoice(nameOf(invoice), { cause });
  }
}

function whole(kind: MovementKind, invoice: { currency: string; amountMinor: number }, at: string): Movement {
  return { kind, at, currency: invoice.currency, amountMinor: invoice.amountMinor };
}

function nameOf(document: unknown): string {
  return JSON.stringify(z.object({ id: z.string() }).safeParse(document).data?.id ?? '');
}
