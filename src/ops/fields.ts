import { type Clock, utcTime } from '@payonce/leases/clock';
import { z } from 'zod';
import { expecting, shown } from '../importing/fieldErrors.ts';
import { hasVisible, isPlainText } from '../importing/visibleText.ts';
import { reportKinds } from '../invoice/counters/counters.ts';
import { currencies } from '../invoice/currencies.ts';
import { onlyValues } from '../invoice/foundKinds.ts';
import { invoiceStatuses } from '../invoice/invoiceStatus.ts';

function plainText(error: ReturnType<typeof expecting>) {
  return z
    .string({ error })
    .trim()
    .min(1, { abort: true, error })
    .max(500, { error })
    .refine(isPlainText, { error: 'expected text without control characters or lone surrogates' })
    .refine(hasVisible, { error: 'expected a character that can be seen' });
}

/** Reason for a change, for the audit trail; optional if nobody else is affected. */
export const reasonSchema = plainText(expecting('a reason of 1 to 500 characters'));
export const noteSchema = plainText(expecting('a note of 1 to 500 characters'));

export const reasonBody = z.strictObject({ reason: reasonSchema });

export const optionalReasonBody = z.strictObject({ reason: reasonSchema.exactOptional() });

/** One of these texts; the error repeats what was sent instead. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, {
    error: ({ input }) => `expected one of ${values.join(', ')}, got ${shown(input)}`,
  });
}

export const currencyField = z.enum(currencies, {
  error: ({ input }) => `expected an ISO 4217 currency code, like EUR, got ${shown(input)}`,
});

/** A time in a query, with any offset; read as UTC with milliseconds. */
export const timeField = z.string().transform((given, context) => {
  const utc = z.iso.datetime({ offset: true }).safeParse(given).success ? utcTime(given) : undefined;
  if (utc !== undefined) return utc;
  // An unescaped plus of an offset arrives as a blank.
  const hint = given.includes(' ') ? ' (a + is written %2B in a URL)' : '';
  context.addIssue(`expected ${aTime}, got ${shown(given)}${hint}`);
  return z.NEVER;
});
const aTime = 'a time from 1970 to 9999 with a UTC offset, like 2026-01-31T12:00:00Z';

/** Part of a text, in any case. */
export function partOf(what: string) {
  return z
    .string()
    .min(1, { error: `expected part of ${what}` })
    .exactOptional();
}

/** The query of a list that goes on where an earlier page ended. */
export const continuationQuery = z.object({ continuation: z.string().exactOptional() });

/** The same, of a list that can be narrowed to one status. */
export function listQuery<const T extends readonly [string, ...string[]]>(statuses: T) {
  return z.object({ status: oneOf(statuses).exactOptional(), ...continuationQuery.shape });
}

/** A day (UTC). */
export const dayField = z.iso
  .date({ error: ({ input }) => `expected a day as YYYY-MM-DD, got ${shown(input)}` })
  .exactOptional();

/** `YYYY-MM-DD`, UTC. */
export function today(clock: Clock): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

export const dayQuery = z.object({ day: dayField, ...continuationQuery.shape });

/** A time from `after` on and before `before`. */
export const periodFields = { before: timeField.exactOptional(), after: timeField.exactOptional() };

/** Fields that narrow a set of invoices, besides their status. */
export const invoiceFields = {
  customer: z.string().min(1, { error: 'expected the id of a customer' }).exactOptional(),
  currency: currencyField.exactOptional(),
  dueAfter: timeField.exactOptional(),
  dueBefore: timeField.exactOptional(),
};

const { customer, currency, ...dueDates } = invoiceFields;

export const invoiceFilter = z.object({
  customer,
  currency,
  status: oneOf(invoiceStatuses).exactOptional(),
  ...dueDates,
  undecided: z
    .literal('true', { error: 'expected true, or nothing' })
    .transform(() => true as const)
    .describe('Only those of which a payment, refund or dispute is not decided')
    .exactOptional(),
  only: oneOf(onlyValues)
    .describe('Only those of which something was refunded or disputed, or that wait for a later try')
    .exactOptional(),
  run: z
    .string()
    .min(1, { error: 'expected the id of a run' })
    .describe('Only those that a run has claimed, retried or voided')
    .exactOptional(),
  counted: z
    .templateLiteral([z.enum(reportKinds), ':', z.iso.date()], {
      error: 'expected a figure of the report and its day, like paid:2026-01-31',
    })
    .describe('Only those that a figure of the report counts on its day (UTC)')
    .exactOptional(),
});
