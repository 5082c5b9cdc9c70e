import { columns } from '../intake/checkInvoice.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { formatAmount } from '../invoice/money.ts';
import type { InvoiceFilter } from '../invoice/store/invoiceFilter.ts';
import type { InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import type { OpsResponse } from './http.ts';

/** Invoices that are in memory at a time. */
const pageSize = 500;

/** Those of an import, then what has become of the invoice. */
const exportColumns = [
  ...columns,
  'status',
  'reason',
  'attempts',
  'createdAt',
  'paidAt',
  'paymentId',
  'declinedAt',
  'refunded',
  'disputed',
];

type Invoices = Pick<InvoiceStore, 'list'>;

/**
 * All invoices that match, as CSV in the order of a list. The first page is read before the answer begins, so that a store that is away is an error with a status. If it goes away
 * later, the body fails, and its sender must break the connection: a part must not pass for the whole.
 */
export async function exportInvoices(invoices: Invoices, filter: InvoiceFilter): Promise<OpsResponse> {
  const pages = pagesOf(invoices, filter);
  const first = await pages.next();
  return {
    headers: { 'content-type': csvType, 'content-disposition': 'attachment; filename="invoices.csv"' },
    body: linesOf(first.done === true ? [] : first.value, pages),
  };
}

async function* pagesOf(invoices: Invoices, filter: InvoiceFilter): AsyncGenerator<readonly Invoice[]> {
  let continuation: string | undefined;
  do {
    const place = continuation === undefined ? {} : { continuation };
    const page = await invoices.list({ ...filter, ...place, pageSize: pageSize });
    yield page.items;
    ({ continuation } = page);
  } while (continuation !== undefined);
}

async function* linesOf(
  first: readonly Invoice[],
  others: AsyncIterable<readonly Invoice[]>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvLine(exportColumns) + textOf(first));
  for await (const page of others) yield Buffer.from(textOf(page));
}

function textOf(page: readonly Invoice[]): string {
  return page.map((invoice) => csvLine(cellsOf(invoice))).join('');
}

function cellsOf(invoice: Invoice): (string | number)[] {
  const { id, customerId, currency, dueAt, paymentMethod = '', description = '' } = invoice;
  const { payment, reversals } = invoice;
  const amount = formatAmount(invoice.amountMinor, currency);
  const imported: Record<string, string> = {
    id,
    customerId,
    amount,
    currency,
    dueAt,
    paymentMethod,
    description,
  };
  return [
    ...columns.map((column) => imported[column] ?? ''),
    invoice.status,
    invoice.reason ?? '',
    invoice.attempts,
    invoice.createdAt,
    payment.paidAt ?? '',
    payment.id ?? '',
    invoice.declinedAt ?? '',
    formatAmount(reversals?.refundedMinor ?? 0, currency),
    formatAmount(reversals?.disputedMinor ?? 0, currency),
  ];
}
