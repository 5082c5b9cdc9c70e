import { useState } from 'preact/hooks';
import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { ActionButton } from './ActionButton.tsx';
import { Amount } from './Amount.tsx';
import { CopyId } from './CopyId.tsx';
import { SettleRefundDialog, type Unsettled } from './SettleRefundDialog.tsx';
import { Status } from './Status.tsx';
import { Time } from './Time.tsx';

interface Row {
  id: string;
  kind: string;
  amountMinor: number;
  /** Absent: that of the invoice. */
  currency?: string;
  status: string;
  at: string;
  note: string;
  /** The second payment that it is of. */
  paymentId?: string;
}

/** Shows what has gone back to the customer, or may. */
export function Reversals({ invoice, done }: { invoice: InvoiceDetailAnswer; done: () => void }) {
  const { id: invoiceId, reversals, currency: usual } = invoice;
  const [asked, setAsked] = useState<Unsettled & { isSame: boolean }>();
  if (reversals === null) return null;
  const { refunds, disputes, payments = [] } = reversals;
  const all: Row[] = [
    ...payments.map((one) => ({ ...one, kind: 'Second payment', status: 'succeeded', note: one.id })),
    ...disputes.map((one) => ({ ...one, kind: 'Dispute', note: one.reason })),
    ...refunds.map((one) => ({ ...one, kind: 'Refund', note: one.failure ?? one.reason ?? '' })),
  ];
  const open = refunds.filter(({ status }) => status === 'requested');
  return (
    <>
      <h2>Refunds and disputes</h2>
      <ul class="reversals">
        {all.map(({ id, kind, amountMinor, currency = usual, status, at, note, paymentId }) => (
          <li key={id}>
            {kind} <Amount amountMinor={amountMinor} currency={currency} /> <Status of={status} />{' '}
            <Time at={at} />
            {note !== '' && <span class="quiet"> {note}</span>}
            {paymentId !== undefined && <span class="quiet"> of second payment {paymentId}</span>}
          </li>
        ))}
      </ul>
      {open.map(({ id, amountMinor, mayBe, requestKey }) => (
        <section key={id} aria-label={`Refund ${id}`}>
          {requestKey !== undefined && (
            <p class="quiet">
              Its Idempotency-Key: <CopyId id={requestKey} />
            </p>
          )}
          {mayBe !== undefined && (
            <>
              <p>
                It is not made, because somebody has refunded the same amount, as <CopyId id={mayBe} />. Is
                that this refund?
              </p>
              <div class="actions">
                <ActionButton
                  label="This is it…"
                  onClick={() => setAsked({ refundId: id, providerId: mayBe, amountMinor, isSame: true })}
                />
                <ActionButton
                  label="Order it as well…"
                  danger
                  onClick={() => setAsked({ refundId: id, providerId: mayBe, amountMinor, isSame: false })}
                />
              </div>
            </>
          )}
        </section>
      ))}
      {asked !== undefined && (
        <SettleRefundDialog
          {...asked}
          invoiceId={invoiceId}
          currency={usual}
          close={() => setAsked(undefined)}
          done={done}
        />
      )}
    </>
  );
}
