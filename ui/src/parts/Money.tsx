import type { TotalsAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import type { OverviewAnswer } from '../../../src/ops/answers/overviewAnswers.ts';
import { api } from '../api/requests.ts';
import { amountText, counted, countText } from '../format/amountText.ts';
import { daysAfter } from '../format/periods.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { Cost } from './Cost.tsx';
import { Link } from './Link.tsx';

interface Sum {
  currency: string;
  count: number;
  amountMinor: number;
}

/** Days ahead of which the page shows what falls due. */
const daysAhead = 7;

async function read() {
  const today = new Date().toISOString().slice(0, 10);
  const month = `${today.slice(0, 8)}01`;
  const until = daysAfter(today, daysAhead);
  const due = { status: 'pending', dueAfter: `${today}T00:00:00Z`, dueBefore: `${until}T00:00:00Z` };
  const [report, next, declined, parked] = await Promise.all([
    api.report({ from: month, to: today }),
    api.totals(due),
    api.totals({ status: 'declined' }),
    api.totals({ status: 'parked' }),
  ]);
  const paidOn = (days: typeof report.totals | typeof report.days) =>
    days.map(({ currency, paid }) => ({ currency, ...paid }));
  return {
    month,
    today,
    until,
    paidToday: paidOn(report.days.filter(({ day }) => day === today)),
    paidThisMonth: paidOn(report.totals),
    next,
    failed: [declined, parked],
    requestUnits: next.requestUnits + declined.requestUnits + parked.requestUnits,
  };
}

/** The amounts that people come for, by currency. They are read once: the database has to add them up. */
export function Money({ atRisk }: { atRisk: OverviewAnswer['openDisputes'] }) {
  return useHasCall('getTotals') ? <Amounts atRisk={atRisk} /> : null;
}

function Amounts({ atRisk }: { atRisk: OverviewAnswer['openDisputes'] }) {
  const { data } = usePolled({ name: 'money', load: read, once: true });
  if (data === undefined) return null;
  const { month, today, until, next, failed } = data;
  return (
    <section aria-label="Amounts">
      <ul class="figures money">
        <Amount name="Paid today" sums={data.paidToday} to={`/report?from=${today}&to=${today}`} />
        <Amount name="Paid this month" sums={data.paidThisMonth} to={`/report?from=${month}&to=${today}`} />
        <Amount
          name={`Falls due in ${daysAhead} days`}
          sums={next.sums}
          isExact={next.isExact}
          to={`/invoices?status=pending&dueAfter=${today}&dueBefore=${until}`}
        />
        <Amount name="Declined" sums={failed[0]?.sums ?? []} to="/invoices?status=declined" />
        <Amount name="Needs a decision" sums={failed[1]?.sums ?? []} to="/invoices?status=parked" />
        <Amount name="At risk: disputed" sums={atRisk} to="/invoices?only=disputed" />
      </ul>
      <Cost of={data} />
    </section>
  );
}

/** Currencies that a tile shows; the page behind it has them all. */
const mostCurrencies = 4;

function Amount({
  name,
  sums,
  to,
  isExact = true,
}: {
  name: string;
  sums: readonly Sum[] | TotalsAnswer['sums'];
  to: string;
  isExact?: boolean;
}) {
  const some = sums.filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count);
  const count = some.reduce((sum, one) => sum + one.count, 0);
  return (
    <li class="figure calm">
      <Link to={to} class="figure-body">
        <span class="name">{name}</span>
        {some.length === 0 && <span class="money-sum">–</span>}
        {some.slice(0, mostCurrencies).map(({ currency, amountMinor }) => (
          <span key={currency} class="money-sum">
            {amountText(amountMinor, currency)} <abbr>{currency}</abbr>
          </span>
        ))}
        <span class="note">
          {some.length > mostCurrencies && `and ${some.length - mostCurrencies} more currencies; `}
          {isExact ? counted(count, 'invoice') : `more than ${countText(count)} invoices`}
        </span>
      </Link>
    </li>
  );
}
