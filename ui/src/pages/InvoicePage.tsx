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
import { Fact } from '../parts/Fact.tsx';
import { customerPath, Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { NoteDialog } from '../parts/NoteDialog.tsx';
import { Page } from '../parts/Page.tsx';
import { RefundDialog } from '../parts/RefundDialog.tsx';
import { RetryDialog } from '../parts/RetryDialog.tsx';
import { Reversals } from '../parts/Reversals.tsx';
import { Status } from '../parts/Status.tsx';
import { Time } from '../parts/Time.tsx';
import { Timeline } from '../parts/Timeline.tsx';
import { UndoVoidDialog, VoidDialog } from '../parts/VoidDialog.tsx';

const dialogs = {
  retry: RetryDialog,
  refund: RefundDialog,
  moveDueDate: DueDateDialog,
  note: NoteDialog,
  void: VoidDialog,
  undoVoid: UndoVoidDialog,
};
type Action = keyof typeof dialogs;

const actions: readonly (readonly [Action, string])[] = [
  ['retry', 'Retry…'],
  ['refund', 'Refund…'],
  ['moveDueDate', 'Due date…'],
  ['note', 'Note…'],
  ['void', 'Void…'],
  ['undoVoid', 'Undo void…'],
];

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
  const other = look.data?.status === 'voided' ? 'void' : 'undoVoid';
  return (
    <Page
      title={id}
      actions={
        look.data === undefined
          ? undefined
          : actions.map(([action, label]) => {
              if (action === other) return null;
              const permitted = action === 'note' ? undefined : look.data?.actions[action];
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
        <Fact name="Amount">
          <Amount {...invoice} />
        </Fact>
        <Fact name="Customer">
          <Link to={customerPath(customerId)}>{customerId}</Link>
        </Fact>
        <Fact name="Due">
          <Time at={dueAt} />
        </Fact>
        {invoice.actionableAt !== null && status === 'pending' && (
          <Fact name="Next try">
            <Time at={invoice.actionableAt} />
          </Fact>
        )}
        {description !== null && <Fact name="Description">{description}</Fact>}
        <Fact name="Payment method">{payment.method?.id ?? paymentMethod ?? "the customer's default"}</Fact>
        {payment.id !== undefined && (
          <Fact name="Payment">
            <CopyId id={payment.id} /> <AtProvider id={payment.id} />
          </Fact>
        )}
        {payment.inProgress !== undefined && (
          <Fact name="In progress">
            <CopyId id={payment.inProgress.id} /> {payment.inProgress.state}, since{' '}
            <Time at={payment.inProgress.since} />
          </Fact>
        )}
        {invoice.archivedAt !== null && (
          <Fact name="Archived">
            <Time at={invoice.archivedAt} />; it is restored when something is changed
          </Fact>
        )}
      </dl>
      <details>
        <summary>Technical details</summary>
        <dl class="facts">
          <Fact name="Idempotency key">
            number {payment.keyNumber}, {attempts} of 5 attempts
          </Fact>
          <Fact name="Shard">{invoice.shard}</Fact>
          {claim !== null && (
            <Fact name="Claimed">
              by {claim.by}, fence {claim.fence}, <Time at={claim.at} />
            </Fact>
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
