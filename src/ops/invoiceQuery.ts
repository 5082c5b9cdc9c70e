import { z } from 'zod';
import { shown } from '../intake/fieldErrors.ts';
import { currencies } from '../invoice/currencies.ts';
import { invoiceStatuses } from '../invoice/invoice.ts';
import { utcTime } from '../platform/clock.ts';
import { oneOf } from './requests.ts';

/** An ISO 4217 code, as it is stored. */
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
export const aTime = 'a time from 1970 to 9999 with a UTC offset, like 2026-01-31T12:00:00Z';

/** What narrows the invoices of a list or of an export. */
export const invoiceFilterSchema = z.object({
  customer: z.string().min(1, { error: 'expected the id of a customer' }).exactOptional(),
  currency: currencyField.exactOptional(),
  status: oneOf(invoiceStatuses).exactOptional(),
  dueAfter: timeField.exactOptional(),
  dueBefore: timeField.exactOptional(),
});
