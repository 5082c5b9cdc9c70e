import { folded } from './folded.ts';
import type { Intent } from './intent.ts';
import { invalid, unsupported } from './refusal.ts';

/** A parsed query in Stripe's search language (https://docs.stripe.com/search). */
export interface SearchQuery {
  matches: (intent: Intent) => boolean;
  /** The only invoice that can match (ignoring case), if the query names one. */
  invoiceId: string | undefined;
}

interface Clause {
  negated: boolean;
  value: (intent: Intent) => string | number | null | undefined;
  operator: string;
  wanted: string | number;
  metadataKey: string | undefined;
}

const single = String.raw`'(?:[^'\\]|\\.)*'`;
const double = String.raw`"(?:[^"\\]|\\.)*"`;
const quoted = `${single}|${double}`;
/** `-metadata['key']:'text'`, `amount>=100`. */
const clausePattern = new RegExp(
  String.raw`(?<negated>-?)(?:metadata\[(?<key>${quoted})\]|(?<field>\w+))\s*` +
    String.raw`(?<operator>:|>=|<=|>|<)\s*(?:(?<text>${quoted})|(?<number>\d+))`,
  'y',
);
const connectivePattern = /\s+(AND|OR)\s+|\s+/y;

const textFields = new Set(['status', 'currency', 'customer']);
const numberFields = new Set(['amount', 'created']);

/** @throws {Refusal} 400 on a malformed query, 501 on a search that only Stripe supports */
export function parseSearchQuery(query: string): SearchQuery {
  const clauses: Clause[] = [];
  const connectives = new Set<string>();
  let position = 0;
  while (true) {
    clausePattern.lastIndex = position;
    const match = clausePattern.exec(query);
    if (match?.groups === undefined) throw notUnderstood(query);
    clauses.push(clauseOf(match.groups));
    position = clausePattern.lastIndex;
    if (position === query.length) break;
    connectivePattern.lastIndex = position;
    const connective = connectivePattern.exec(query);
    if (connective === null) throw notUnderstood(query);
    connectives.add(connective[1] ?? 'AND');
    position = connectivePattern.lastIndex;
  }
  if (connectives.size > 1) throw invalid('query', 'A query cannot combine AND and OR.');
  const any = connectives.has('OR');
  const invoice = any ? undefined : clauses.find(isInvoice);
  return {
    matches: (intent) =>
      any
        ? clauses.some((clause) => holds(clause, intent))
        : clauses.every((clause) => holds(clause, intent)),
    invoiceId: invoice === undefined ? undefined : String(invoice.wanted),
  };
}

function clauseOf(groups: Record<string, string | undefined>): Clause {
  const { field, operator = ':', key, text } = groups;
  const metadataKey = key === undefined ? undefined : unquoted(key);
  const negated = groups.negated === '-';
  if (metadataKey !== undefined || textFields.has(field ?? '')) {
    if (text === undefined || operator !== ':')
      throw unsupported(`searching ${field ?? 'metadata'} other than with ':' and a quoted text`);
    const value = (intent: Intent) =>
      metadataKey === undefined
        ? intent[field as 'status' | 'currency' | 'customer']
        : intent.metadata[metadataKey];
    return { negated, value, operator, wanted: unquoted(text), metadataKey };
  }
  if (!numberFields.has(field ?? '')) throw unsupported(`searching ${field}`);
  if (groups.number === undefined) throw unsupported(`searching ${field} by text`);
  const value = (intent: Intent) => intent[field as 'amount' | 'created'];
  return { negated, value, operator, wanted: Number(groups.number), metadataKey };
}

function holds({ negated, value, operator, wanted }: Clause, intent: Intent): boolean {
  return compare(value(intent), operator, wanted) !== negated;
}

function compare(
  value: string | number | null | undefined,
  operator: string,
  wanted: string | number,
): boolean {
  if (value === null || value === undefined) return false;
  switch (operator) {
    case '>':
      return value > wanted;
    case '>=':
      return value >= wanted;
    case '<':
      return value < wanted;
    case '<=':
      return value <= wanted;
    default:
      return folded(String(value)) === folded(String(wanted));
  }
}

function isInvoice({ metadataKey, negated }: Clause): boolean {
  return metadataKey === 'invoiceId' && !negated;
}

/** Strips the quotes and escapes. */
function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/gs, '$1');
}

function notUnderstood(query: string) {
  return invalid('query', `We were unable to parse your search query: ${query}`);
}
