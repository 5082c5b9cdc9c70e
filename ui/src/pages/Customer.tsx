import type { InvoiceAnswer, TotalsAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api } from '../api/requests.ts';
import { amountText, counted, sumsText } from '../format/amountText.ts';
import { reversalTexts } from '../format/reversalText.ts';
import { usePolled } from '../hooks/polled.ts';
import { Fact } from '../parts/Fact.tsx';
import { invoiceColumns } from '../parts/invoiceColumns.tsx';
import { invoicePath, Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Table } from '../parts/Table.tsx';
import { Time } from '../parts/Time.tsx';

/** States in which an invoice is owed, with what that means. */
const owed = [
  ['pending', 'to be charged'],
  ['claimed', 'being charged'],
  ['processing', 'in flight at the bank'],
  ['declined', 'declined'],
  ['parked', 'need a decision'],
] as const;

/** Each row is of the same customer. */
const columns = invoiceColumns.filter(({ head }) => head !== 'Customer');

/** Invoices that the page lists. */
const mostListed = 100;

async function read(customer: string) {
  const [{ invoices, continuation }, paid, ...open] = await Promise.all([
    api.invoices({ customer }),
    api.totals({ customer, status: 'paid' }),
    ...owed.map(([status]) => api.totals({ customer, status })),
  ]);
  return { invoices: invoices.toSorted((a, b) => (a.dueAt < b.dueAt ? 1 : -1)), continuation, paid, open };
}

/** A customer: what they owe, how they pay, and what has happened. */
export function Customer({ id }: { id: string }) {
  const look = usePolled({ name: `customer ${id}`, load: () => read(id) });
  return (
    <Page
      title={id}
      actions={
        <Link to={`/invoices?${new URLSearchParams({ customer: id })}`} class="button">
          All invoices
        </Link>
      }
    >
      <Loaded look={look}>
        {({ invoices, continuation, paid, open }) =>
          invoices.length === 0 ? (
            <p class="empty">There is no invoice of this customer. Capital and small letters matter.</p>
          ) : (
            <>
              <p class="story">{owesText(open)}</p>
              <dl class="facts">
                {owed.map(([status, meaning], index) => {
                  const total = open[index];
                  return total === undefined || total.count === 0 ? null : (
                    <Fact key={status} name={meaning}>
                      <Link to={`/invoices?${new URLSearchParams({ customer: id, status })}`}>
                        {sumsText(total.sums)}
                      </Link>{' '}
                      ({counted(total.count, 'invoice')})
                    </Fact>
                  );
                })}
                <Fact name="Paid so far">
                  {paid.count === 0 ? 'nothing' : sumsText(paid.sums)} ({counted(paid.count, 'invoice')})
                </Fact>
                <Fact name="Payment method">{methodsOf(invoices).join(', ')}</Fact>
              </dl>
              <h2>Invoices</h2>
              <Table
                caption="Invoices of the customer"
                columns={columns}
                rows={invoices}
                keyOf={({ id: of }) => of}
                empty={null}
              />
              {continuation !== null && (
                <p class="quiet">These are {mostListed} of them: the list of all invoices has the others.</p>
              )}
              <h2>Timeline</h2>
              <ol class="timeline">
                {eventsOf(invoices).map(({ at, invoice, what }) => (
                  <li key={`${at} ${invoice} ${what}`}>
                    <Time at={at} /> <Link to={invoicePath(invoice)}>{invoice}</Link> {what}
                  </li>
                ))}
              </ol>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function owesText(open: readonly TotalsAnswer[]): string {
  const sums = open.flatMap((total) => total.sums);
  const count = open.reduce((sum, total) => sum + total.count, 0);
  if (count === 0) return 'Nothing is owed.';
  return `They owe ${sumsText(sums)}, ${counted(count, 'invoice')}.`;
}

/** The payment methods of the latest invoices, each once. */
function methodsOf(invoices: readonly InvoiceAnswer[]): string[] {
  const latest = invoices.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  const methods = latest.map(({ payment, paymentMethod }) => payment.method?.id ?? paymentMethod);
  return [...new Set(methods.map((method) => method ?? "the customer's default"))].slice(0, 5);
}

/** Events that the page shows. */
const mostEvents = 50;

function eventsOf(invoices: readonly InvoiceAnswer[]) {
  return invoices
    .flatMap((invoice) => {
      const { id, createdAt, payment, reversals, declinedAt, reason, amountMinor, currency } = invoice;
      const amount = `${amountText(amountMinor, currency)} ${currency}`;
      const latest = [...(reversals?.refunds ?? []), ...(reversals?.disputes ?? [])]
        .map(({ at }) => at)
        .toSorted()
        .at(-1);
      return [
        { at: createdAt, what: `over ${amount} was imported` },
        { at: payment.paidAt, what: `was paid: ${amount}` },
        { at: declinedAt, what: `was declined: ${reason}` },
        { at: latest, what: reversalTexts(invoice).join(' ') },
      ].flatMap(({ at, what }) => (typeof at === 'string' ? [{ at, what, invoice: id }] : []));
    })
    .toSorted((a, b) => (a.at < b.at ? 1 : -1))
    .slice(0, mostEvents);
}
