import type { TotalsAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { counted, countText, sumsText } from '../format/amountText.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { Cost } from './Cost.tsx';

type Filter = Readonly<Record<string, string | undefined>>;

/** The number and the sums of what a filter finds. They are asked for once, beside the rows, which do not wait for them. */
export function Totals({ filter }: { filter: Filter }) {
  return useHasCall('getTotals') ? <Asked filter={filter} /> : null;
}

function Asked({ filter }: { filter: Filter }) {
  const { data } = usePolled({
    name: withQuery('totals', filter),
    load: () => api.totals(filter),
    once: true,
  });
  return (
    <p class="quiet totals">
      {data === undefined ? 'Counting …' : totalsText(data)} <Cost of={data} />
    </p>
  );
}

function totalsText({ count, isExact, sums }: TotalsAnswer): string {
  if (!isExact) return `More than ${countText(count)} invoices.`;
  return count === 0 ? 'No invoices.' : `${counted(count, 'invoice')}: ${sumsText(sums)}.`;
}
