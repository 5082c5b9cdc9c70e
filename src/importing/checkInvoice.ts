import { isSystemId } from '@payonce/jobs/documents';
import { utcTime } from '@payonce/leases/clock';
import { z } from 'zod';
import { currencies, currencyExponent } from '../invoice/currencies.ts';
import type { InvoiceContent } from '../invoice/invoice.ts';
import { formatAmount } from '../invoice/money.ts';
import { amountLimits, stripeAmount } from '../stripe/stripeAmount.ts';
import { expecting, shown, unknownName } from './fieldErrors.ts';
import { isPlainText, lookAlikeError } from './visibleText.ts';

export type CheckedRow =
  | { kind: 'invoice'; invoice: InvoiceContent }
  | { kind: 'bad'; field: string; error: string };

/** A rejected row. `index` counts the rows of the body from 0. A row is rejected once, for all its faults. */
export interface Rejection {
  index: number;
  /** The first field that is wrong, or `row`. */
  field: string;
  /** Expected and given value of this field, then of the row's other wrong fields; at most 600 characters. */
  error: string;
  /** The row of a file as it was sent, if it is short: the cells of a CSV, or an item of JSON. */
  row?: unknown;
}

/** UTF-8 bytes in an id or another name. It is part of lock keys and of the provider's metadata, and a batch has to fit into 256 KB. */
const maxNameBytes = 255;
const maxDescriptionBytes = 1000;
const mostErrorCharacters = 600;
const mostUnknown = 3;

const aCurrency = 'an ISO 4217 currency code, like EUR';
const aWholeAmount = 'a whole number of minor units above 0 (1999 for 19.99 USD, 500 for 500 JPY)';

/** The fields of an invoice but for its amount, with their checks. */
export const importedFields = {
  id: text('an id', maxNameBytes).check(refusing(idError)),
  customerId: text('a customer id', maxNameBytes).check(refusing(customerIdError)),
  currency: z.string({ error: expecting(aCurrency) }).refine((code) => currencyExponent(code) !== undefined, {
    abort: true,
    error: ({ input }) => `expected ${aCurrency}, not ${shown(input)}${currencyHint(input)}`,
  }),
  dueAt: z.iso
    .datetime({
      offset: true,
      error: expecting('a time with a UTC offset, like 2026-01-31T12:00:00Z or …+01:00'),
    })
    .transform((given, context) => {
      const utc = utcTime(given);
      if (utc !== undefined) return utc;
      context.addIssue(`expected a time from the year 1970 to 9999, not ${shown(given)}`);
      return z.NEVER;
    }),
  /** Absent: the customer's default at the provider. */
  paymentMethod: text('a payment method id', maxNameBytes)
    .regex(/^[\x21-\x7e]+$/, { error: 'expected printable ASCII characters without spaces' })
    .exactOptional(),
  description: text('a description', maxDescriptionBytes, isPlainText).exactOptional(),
};

/** An invoice as a JSON object. The limit is looked up only for a valid amount and currency, whose checks abort. */
export const invoiceJsonSchema = z
  .strictObject({
    ...importedFields,
    amountMinor: z
      .int({ abort: true, error: expecting(aWholeAmount) })
      .positive({ abort: true, error: expecting(aWholeAmount) }),
  })
  .superRefine(({ amountMinor, currency }, context) => {
    const error = limitError(amountMinor, currency);
    if (error !== undefined) context.addIssue({ code: 'custom', path: ['amountMinor'], message: error });
  });

export function checkJsonInvoice(value: unknown): CheckedRow {
  return checkedRow(invoiceJsonSchema.safeParse(value), value, Object.keys(invoiceJsonSchema.shape));
}

/** The row of a schema's result; `known` are its fields. */
export function checkedRow(
  result: z.ZodSafeParseResult<InvoiceContent>,
  value: unknown,
  known: readonly string[],
): CheckedRow {
  if (result.success) return { kind: 'invoice', invoice: result.data };
  const faults = result.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const error = unknownName('field', known);
      return issue.keys.slice(0, mostUnknown).map((key) => ({ field: key.slice(0, 60), error }));
    }
    const [field] = issue.path;
    if (field === undefined) return [{ field: 'row', error: `expected an object, not ${shown(value)}` }];
    return [{ field: String(field), error: issue.message }];
  });
  const [first, ...others] = faults;
  const also = others.map(({ field, error }) => `; ${field}: ${error}`).join('');
  const error = (first?.error ?? '') + also;
  const isLong = error.length > mostErrorCharacters;
  return {
    kind: 'bad',
    field: first?.field ?? 'row',
    error: isLong ? `${error.slice(0, mostErrorCharacters - 1)}…` : error,
  };
}

/** A check whose fault is the text that `errorOf` gives. */
export function refusing(errorOf: (value: string) => string | undefined) {
  return (context: { value: string; issues: { push(issue: z.core.$ZodRawIssue): unknown } }) => {
    const message = errorOf(context.value);
    if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
  };
}

function text(what: string, maxBytes: number, isAllowed = isOneLine) {
  const expected = `${what} of 1 to ${maxBytes} bytes`;
  return z
    .string({ error: expecting(expected) })
    .refine((value) => value !== '' && Buffer.byteLength(value) <= maxBytes, {
      abort: true,
      error: ({ input }) => `expected ${expected}, not ${Buffer.byteLength(String(input))}: ${shown(input)}`,
    })
    .refine(isAllowed, {
      abort: true,
      error: ({ input }) =>
        `expected text without control characters or lone surrogates, not ${shown(input)}`,
    });
}

function isOneLine(value: string): boolean {
  return !/\p{Cc}/u.test(value) && value.isWellFormed();
}

/** The fault of an id in Cosmos (https://learn.microsoft.com/azure/cosmos-db/concepts-limits) or a URL. */
function idError(id: string): string | undefined {
  const bad = /[/\\?#]/.exec(id)?.[0];
  if (bad !== undefined) return `expected no / \\ ? or #, which Cosmos DB refuses, not ${shown(id)}`;
  const encoded = /%[\da-f]{2}/i.exec(id)?.[0];
  if (encoded !== undefined) return `expected no ${encoded}, which Cosmos DB decodes, not ${shown(id)}`;
  const similar = lookAlikeError(id);
  if (similar !== undefined) return similar;
  if (id !== id.trim()) return `expected no leading or trailing space, not ${shown(id)}`;
  if (isSystemId(id)) return `expected an id that does not start with a colon, not ${shown(id)}`;
  if (id === '.' || id === '..') return `expected more than dots, which a URL drops, not ${shown(id)}`;
  return undefined;
}

function customerIdError(id: string): string | undefined {
  return lookAlikeError(id) ?? (id === id.trim() ? undefined : 'expected no leading or trailing space');
}

/** The fault of an amount for the payment provider. */
export function limitError(amountMinor: number, currency: string): string | undefined {
  const text = (amount: number) => formatAmount(amount, currency);
  const { least, most } = amountLimits(currency);
  if (amountMinor > most || amountMinor < least) {
    const limit = amountMinor > most ? `most ${text(most)}` : `least ${text(least)}`;
    return `expected at ${limit} ${currency}, the payment provider's limit, not ${text(amountMinor)}`;
  }
  const amount = stripeAmount(amountMinor, currency);
  return 'refused' in amount
    ? `expected another amount: ${amount.refused}, not ${text(amountMinor)}`
    : undefined;
}

function currencyHint(input: unknown): string {
  const upper = String(input).trim().toUpperCase();
  return currencies.includes(upper) ? `: did you mean ${upper}?` : '';
}
