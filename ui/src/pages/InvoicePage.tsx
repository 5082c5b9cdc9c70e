import { useContext, useState } from 'preact/hooks';
import type { InvoiceDetailAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { CallFailed } from '../api/call.ts';
import { api } from '../api/requests.ts';
import { invoiceStory } from '../format/invoiceStory.ts';
import { usePolled } from '../hooks/polled.ts';
import { Session } from '../hooks/session.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { Amount } from '../parts/Amount.tsx';
import { CopyId } from '../parts/CopyId.tsx';
import { DueDateDialog } from '../parts/DueDateDialog.tsx';
import { customerPath, Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { RefundDialog } from '../parts/RefundDialog.tsx';
import { RetryDialog } from '../parts/RetryDialog.tsx';
import { Reversals } from '../parts/Reversals.tsx';
import { Status } from '../parts/Status.tsx';
import { Term } from '../parts/Term.tsx';
import { Time } from '../parts/Time.tsx';
import { Timeline } from '../parts/Timeline.tsx';
import { VoidDialog } from '../parts/VoidDialog.tsx';

type Action = keyof InvoiceDetailAnswer['actions'];

const actions: readonly (readonly [Action, string])[] = [
  ['retry', 'Retry…'],
  ['refund', 'Refund…'],
  ['moveDueDate', 'Due date…'],
  ['void', 'Void…'],
];

const dialogs = { retry: RetryDialog, refund: RefundDialog, moveDueDate: DueDateDialog, void: VoidDialog };

/** One invoice: how it stands, what may be done with it, and its life. */
export function InvoicePage({ id }: { id: string }) {
  const look = usePolled({
    name: `invoice ${id}`,
    load: () => api.invoice(id),
    isBusy: ({ status, reversals }) =>
      status === 'claimed' ||
      status === 'pending' ||
      status === 'processing' ||
      reversals?.refunds.some((one) => one.status === 'requested') === true,
  });
  const [open, setOpen] = useState<Action>();
  const unknown = look.error instanceof CallFailed && look.error.status === 404;
  const Opened = open === undefined ? undefined : dialogs[open];
  return (
    <Page
      title={id}
      actions={
        look.data === undefined
          ? undefined
          : actions.map(([action, label]) => {
              const permitted = look.data?.actions[action];
              return (
                <ActionButton
                  key={action}
                  label={label}
                  danger={action === 'void'}
                  why={permitted?.allowed === false ? permitted.why : undefined}
                  onClick={() => setOpen(action)}
                />
              );
            })
      }
    >
      {unknown ? (
        <div class="empty">
          <p>There is no invoice with this id. Capital and small letters matter.</p>
          <Link to="/invoices">All invoices</Link>
        </div>
      ) : (
        <Loaded look={look}>{(invoice) => <Details invoice={invoice} done={look.reload} />}</Loaded>
      )}
      {Opened !== undefined && look.data !== undefined && (
        <Opened invoice={look.data} close={() => setOpen(undefined)} done={look.reload} />
      )}
    </Page>
  );
}

/** The way to a payment at the provider, if its account is known. */
function AtProvider({ id }: { id: string }) {
  const { payments } = useContext(Session);
  return payments === null ? null : (
    <a href={`${payments}${encodeURIComponent(id)}`} target="_blank" rel="noreferrer">
      at Stripe
    </a>
  );
}

function Details({ invoice, done }: { invoice: InvoiceDetailAnswer; done: () => void }) {
  const { pause } = useContext(State);
  const { customerId, dueAt, description, payment, attempts, paymentMethod, claim, status } = invoice;
  return (
    <>
      <p class="story">
        <Status of={status} /> {invoiceStory(invoice, Date.now(), Boolean(pause))}
      </p>
      <dl class="facts">
        <dt>Amount</dt>
        <dd>
          <Amount {...invoice} />
        </dd>
        <dt>Customer</dt>
        <dd>
          <Link to={customerPath(customerId)}>{customerId}</Link>
        </dd>
        <dt>Due</dt>
        <dd>
          <Time at={dueAt} />
        </dd>
        {invoice.actionableAt !== null && status === 'pending' && (
          <>
            <dt>Next try</dt>
            <dd>
              <Time at={invoice.actionableAt} />
            </dd>
          </>
        )}
        {description !== null && (
          <>
            <dt>Description</dt>
            <dd>{description}</dd>
          </>
        )}
        <dt>Payment method</dt>
        <dd>{payment.method?.id ?? paymentMethod ?? "the customer's default"}</dd>
        {payment.id !== undefined && (
          <>
            <dt>Payment</dt>
            <dd>
              <CopyId id={payment.id} /> <AtProvider id={payment.id} />
            </dd>
          </>
        )}
        {payment.inProgress !== undefined && (
          <>
            <dt>In progress</dt>
            <dd>
              <CopyId id={payment.inProgress.id} /> {payment.inProgress.state}, since{' '}
              <Time at={payment.inProgress.since} />
            </dd>
          </>
        )}
        {invoice.archivedAt !== null && (
          <>
            <dt>Archived</dt>
            <dd>
              <Time at={invoice.archivedAt} />; it is restored when something is changed
            </dd>
          </>
        )}
      </dl>
      <details>
        <summary>Technical details</summary>
        <dl class="facts">
          <dt>
            <Term>Idempotency key</Term>
          </dt>
          <dd>
            number {payment.keyNumber}, {attempts} of 5 attempts
          </dd>
          <dt>
            <Term>Shard</Term>
          </dt>
          <dd>{invoice.shard}</dd>
          {claim !== null && (
            <>
              <dt>Claimed</dt>
              <dd>
                by {claim.by}, fence {claim.fence}, <Time at={claim.at} />
              </dd>
            </>
          )}
        </dl>
      </details>
      <Reversals invoice={invoice} done={done} />
      <h2>Timeline</h2>
      <p class="quiet">
        <Link to={`/audit?${new URLSearchParams({ target: invoice.id })}`}>What people did with it</Link>
      </p>
      <Timeline entries={invoice.timeline} currency={invoice.currency} />
    </>
  );
}
