import type { z } from 'zod';
import type { InvoiceContent } from '../invoice/invoice.ts';
import { shown, unknownName } from './fieldErrors.ts';

export type CheckedRow =
  | { kind: 'invoice'; invoice: InvoiceContent }
  | { kind: 'bad'; field: string; error: string };

const mostErrorCharacters = 600;
/** Unknown fields of a row that its error names. */
const mostUnknown = 3;

/** What a schema says of a row; `known` are its fields. */
export function checked(
  result: z.ZodSafeParseResult<InvoiceContent>,
  value: unknown,
  known: readonly string[],
): CheckedRow {
  if (result.success) return { kind: 'invoice', invoice: result.data };
  const faults = result.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return unknownFields(issue.keys, known);
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

function unknownFields(keys: readonly string[], known: readonly string[]) {
  const named = keys
    .slice(0, mostUnknown)
    .map((key) => ({ field: key.slice(0, 60), error: unknownName('field', known) }));
  const others = keys.length - named.length;
  return others === 0 ? named : [...named, { field: 'row', error: `has ${others} more unknown fields` }];
}
