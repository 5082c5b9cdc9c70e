import { columns } from '../importing/checkInvoice.ts';
import type { Invoice } from '../invoice/invoice.ts';
import { formatAmount } from '../invoice/money.ts';
import type { InvoiceFilter, InvoiceStore } from '../invoice/store/invoiceStore.ts';
import { csvLine, csvType } from '../platform/csv.ts';
import { problem, problemResponse } from '../platform/problem.ts';
import type { OpsResponse } from './requests.ts';

/** Invoices that one query reads. */
const pageSize = 500;
/** Invoices of one export: some 20 MB, and half a minute. */
export const mostExported = 100_000;

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

/** All invoices that match, as CSV in the order of a list, or the advice to ask for fewer: the answer is in memory as a whole. */
export async function exportInvoices(invoices: Invoices, filter: InvoiceFilter): Promise<OpsResponse> {
  const lines = [csvLine(exportColumns)];
  let count = 0;
  let continuation: string | undefined;
  do {
    const place = continuation === undefined ? {} : { continuation };
    const page = await invoices.list({ ...filter, ...place, pageSize });
    count += page.items.length;
    if (count > mostExported) {
      const advice = 'ask for fewer by customer, currency, status, dueAfter or dueBefore';
      return problemResponse(problem(413, `More than ${mostExported} invoices match: ${advice}.`));
    }
    lines.push(textOf(page.items));
    ({ continuation } = page);
  } while (continuation !== undefined);
  return {
    headers: { 'content-type': csvType, 'content-disposition': 'attachment; filename="invoices.csv"' },
    body: lines.join(''),
  };
}

function textOf(page: readonly Invoice[]): string {
  return page.map((invoice) => csvLine(cellsOf(invoice))).join('');
}

function cellsOf(invoice: Invoice): (string | number)[] {
  const { id, customerId, currency, dueAt, paymentMethod = '', description = '' } = invoice;
  const { payment, reversals } = invoice;
  const amount = formatAmount(invoice.amountMinor, currency);
  const texts = { id, customerId, amount, currency, dueAt, paymentMethod, description };
  const imported: Record<string, string> = texts;
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
