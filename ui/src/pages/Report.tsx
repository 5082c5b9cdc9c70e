import type { ReportDay } from '../../../src/ops/answers/reportAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { amountText, countText } from '../format/amountText.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { CsvButton } from '../parts/CsvButton.tsx';
import { type Filter, Filters } from '../parts/Filters.tsx';
import { Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { type Column, Table } from '../parts/Table.tsx';

const filters: readonly Filter[] = [
  {
    label: 'Days',
    from: { name: 'from', label: 'From' },
    to: { name: 'to', label: 'To' },
    includesTo: true,
    none: 'the last 30',
  },
  { name: 'currency', label: 'Currency', kind: 'text' },
];

type Row = Omit<ReportDay, 'day'> & { day?: string };

const kinds = [
  ['Paid', 'paid'],
  ['Declined', 'declined'],
  ['Refunded', 'refunded'],
  ['Disputed', 'disputed'],
  ['Dispute lost', 'disputeLost'],
] as const;

/** Filter of a list of invoices, so that it has what a total counts, on other days too. */
const lists: Partial<Record<(typeof kinds)[number][1], string>> = {
  paid: 'status=paid',
  declined: 'status=declined',
  refunded: 'only=refunded',
  disputed: 'only=disputed',
};

const amounts: readonly Column<Row>[] = kinds.map(([head, kind]) => ({
  head,
  right: true,
  cell: (row) => {
    const { count, amountMinor } = row[kind];
    if (count === 0) return <span class="quiet">–</span>;
    const list = row.day === undefined ? lists[kind] : `counted=${kind}:${row.day}`;
    const amount = amountText(amountMinor, row.currency);
    return (
      <>
        {list === undefined ? (
          amount
        ) : (
          <Link to={`/invoices?${list}&currency=${row.currency}`}>{amount}</Link>
        )}{' '}
        <span class="quiet">({countText(count)})</span>
      </>
    );
  },
}));

const currency: Column<Row> = { head: 'Currency', cell: (row) => row.currency };
const day: Column<Row> = { head: 'Day', cell: (row) => row.day ?? '' };

/** Shows what was paid, declined, refunded and disputed, per day and currency. */
export function Report({ place: { path, query } }: { place: Place }) {
  const asked = {
    from: query.get('from') ?? undefined,
    to: query.get('to') ?? undefined,
    currency: query.get('currency')?.toUpperCase(),
  };
  const look = usePolled({ name: withQuery('report', asked), load: () => api.report(asked), once: true });
  return (
    <Page
      title="Report"
      actions={
        <>
          <button type="button" onClick={look.reload}>
            Reload
          </button>
          <CsvButton path={withQuery('report', asked)} name="report.csv" />
        </>
      }
    >
      <Filters place={{ path, query }} filters={filters} />
      <p class="quiet">
        Days in UTC, 30 of them unless you choose. Fees are not included. A day's amount leads to its
        invoices; archived ones count, and are in no list.
      </p>
      <Loaded look={look}>
        {({ days, totals }) => (
          <>
            {totals.length > 0 && (
              <>
                <h2>In all</h2>
                <Table
                  caption="Totals by currency"
                  columns={[currency, ...amounts]}
                  rows={totals.toSorted((a, b) => b.disputed.count - a.disputed.count)}
                  keyOf={(row) => row.currency}
                  empty={null}
                />
                <h2>By day</h2>
              </>
            )}
            <Table
              caption="Totals by day and currency"
              columns={[day, currency, ...amounts]}
              rows={days.toReversed()}
              keyOf={(row) => `${row.day} ${row.currency}`}
              empty={<p>Nothing moved in this time. Choose an earlier day.</p>}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}
