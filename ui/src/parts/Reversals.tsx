import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { Amount } from './Amount.tsx';
import { Status } from './Status.tsx';
import { Time } from './Time.tsx';

/** What has gone back to the customer, or may. */
export function Reversals({ invoice: { reversals, currency } }: { invoice: InvoiceDetailAnswer }) {
  if (reversals === null) return null;
  const { refunds, disputes } = reversals;
  const all = [
    ...disputes.map((one) => ({ ...one, kind: 'Dispute', note: one.reason })),
    ...refunds.map((one) => ({ ...one, kind: 'Refund', note: one.failure ?? one.reason ?? '' })),
  ];
  return (
    <>
      <h2>Refunds and disputes</h2>
      <ul class="reversals">
        {all.map(({ id, kind, amountMinor, status, at, note }) => (
          <li key={id}>
            {kind} <Amount amountMinor={amountMinor} currency={currency} /> <Status of={status} />{' '}
            <Time at={at} />
            {note !== '' && <span class="quiet"> {note}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
