import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { readableDocuments } from '@payonce/jobs/documents';
import { fromCosmos } from '@payonce/jobs/documents/cosmos';
import { z } from 'zod';
import { currencies } from '../currencies.ts';
import { foundKinds } from '../foundKinds.ts';
import { invoiceSchema } from '../invoice.ts';
import { parseAmount } from '../money.ts';
import { termOf, wordsOf } from '../searchTerms.ts';
import { whereOf } from './cosmosInvoiceReads.ts';
import type { Found, InvoiceFilter, InvoiceTotals } from './invoiceStore.ts';

/** Invoices of each kind that a search shows. */
export const mostFound = 6;
/** Invoices that are read to find different customers: one customer may have many. */
const mostRead = 500;
/** Documents of one answer of the service. */
const atOnce = 2_000;

/** A beginning of a term, behind any lookup by an index. */
const hasTerm = (name: string) => `EXISTS (SELECT VALUE t FROM t IN c.terms WHERE STARTSWITH(t, ${name}))`;

/** Finds invoices by a text. Each query uses an index, and reads few of them. @throws {StoreAway} */
export async function cosmosSearch(container: Container, text: string): Promise<Found> {
  let charge = 0;
  const words = wordsOf(text);
  const amounts = amountsOf(text);
  const [invoice, payment, description, amount, customers] = await Promise.all([
    some(hasTerm('@t'), { '@t': termOf('invoice', text) }),
    // The provider tells small letters from capitals: two payments may differ in nothing else.
    some('STARTSWITH(c.payment.id, @t)', { '@t': text }),
    words.length === 0
      ? []
      : some(
          words.map((_, index) => hasTerm(`@t${index}`)).join(' AND '),
          Object.fromEntries(words.map((word, index) => [`@t${index}`, termOf('word', word)])),
        ),
    Promise.all(
      [...amounts].map(([amountMinor, of]) =>
        some('c.amountMinor = @amount AND ARRAY_CONTAINS(@currencies, c.currency)', {
          '@amount': amountMinor,
          '@currencies': of,
        }),
      ),
    ).then((found) => found.flat()),
    customersOf(termOf('customer', text)),
  ]);
  const byKind = { invoice, payment, description, amount };
  const groups = foundKinds
    .map((kind) => ({ kind, found: byKind[kind] }))
    .map(({ kind, found }) => ({
      kind,
      invoices: readableDocuments(found.slice(0, mostFound), invoiceSchema, 'invoice'),
      hasMore: found.length > mostFound,
    }));
  return { groups, ...customers, charge: Math.round(charge * 100) / 100 };

  async function some(where: string, parameters: Record<string, string | number | string[]>) {
    return ask(`SELECT TOP ${mostFound + 1} * FROM c WHERE ${where}`, parameters);
  }

  async function customersOf(term: string): Promise<Pick<Found, 'customers' | 'hasMoreCustomers'>> {
    const found = await ask(`SELECT TOP ${mostRead} VALUE c.customerId FROM c WHERE ${hasTerm('@t')}`, {
      '@t': term,
    });
    const different = [...new Set(z.array(z.string()).parse(found))].toSorted();
    const hasMoreCustomers = different.length > mostFound || found.length === mostRead;
    return { customers: different.slice(0, mostFound), hasMoreCustomers };
  }

  async function ask(query: string, parameters: Record<string, string | number | string[]>) {
    const spec = { query, parameters: Object.entries(parameters).map(([name, value]) => ({ name, value })) };
    const { found, charge: asked } = await charged(container, spec);
    charge += asked;
    return found;
  }
}

/** The amounts that a text may be, in minor units, each with the currencies in which it is: `310.84`, `1,234.50 EUR`. Pure. */
export function amountsOf(text: string): ReadonlyMap<number, string[]> {
  const [, amount = '', code] = /^([\d.,]+)\s*([a-z]{3})?$/i.exec(text.trim()) ?? [];
  const digits = amount.replaceAll(/,(?=\d{3})/g, '');
  const wanted = code === undefined ? currencies : [code.toUpperCase()];
  const found = new Map<number, string[]>();
  for (const currency of wanted) {
    const parsed = parseAmount(digits, currency);
    if (parsed.kind === 'bad') continue;
    found.set(parsed.amountMinor, [...(found.get(parsed.amountMinor) ?? []), currency]);
  }
  return found;
}

const amountSchema = z.array(z.object({ currency: z.string(), amountMinor: z.number() }));

/** Counts and adds up what matches, as far as `most` of them. @throws {StoreAway} */
export async function cosmosTotals(
  container: Container,
  filter: InvoiceFilter,
  { most, now }: { most: number; now: string },
): Promise<InvoiceTotals> {
  const { where, parameters } = whereOf(filter, now);
  const query = `SELECT TOP ${most + 1} c.currency, c.amountMinor FROM c WHERE ${where}`;
  const { found, charge } = await charged(container, { query, parameters });
  return { ...totalsOf(amountSchema.parse(found), most), charge };
}

/** The totals of these amounts, of which no more than `most` count. Pure. */
export function totalsOf(
  amounts: readonly { currency: string; amountMinor: number }[],
  most: number,
): Omit<InvoiceTotals, 'charge'> {
  const counted = amounts.slice(0, most);
  const sums = [...Map.groupBy(counted, ({ currency }) => currency)].map(([currency, some]) => ({
    currency,
    count: some.length,
    amountMinor: some.reduce((sum, one) => sum + one.amountMinor, 0),
  }));
  return { count: counted.length, isExact: amounts.length <= most, sums };
}

/** All that a query over all partitions finds, and what it cost (request units). */
async function charged(container: Container, query: SqlQuerySpec) {
  const asked = container.items.query<unknown>(query, { maxItemCount: atOnce });
  const { resources, requestCharge } = await fromCosmos(() => asked.fetchAll());
  return { found: resources, charge: requestCharge };
}
