import type { InvoiceAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { reversalTexts } from '../format/reversalText.ts';
import { Amount } from './Amount.tsx';
import { customerPath, invoicePath, Link } from './Link.tsx';
import { Status } from './Status.tsx';
import type { Column } from './Table.tsx';
import { Time } from './Time.tsx';

/** Columns of a list of invoices. */
export const invoiceColumns: readonly Column<InvoiceAnswer>[] = [
  { head: 'Invoice', cell: ({ id }) => <Link to={invoicePath(id)}>{id}</Link> },
  {
    head: 'Customer',
    cell: ({ customerId }) => <Link to={customerPath(customerId)}>{customerId}</Link>,
  },
  { head: 'Amount', right: true, cell: Amount },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Due', sort: 'dueAt', cell: ({ dueAt }) => <Time at={dueAt} /> },
  { head: 'Why, or until', cell: Waiting },
];

/** Why an invoice is where it is, or until when it waits. */
function Waiting(invoice: InvoiceAnswer) {
  const { status, reason, actionableAt, claim, dueAt } = invoice;
  const reversed = reversalTexts(invoice);
  if (reversed.length > 0) return <span class="why">{reversed.join(' ')}</span>;
  if (reason !== null) return <span class="why">{reason}</span>;
  if (status === 'pending' && actionableAt !== null && actionableAt !== dueAt)
    return (
      <>
        next try <Time at={actionableAt} />
      </>
    );
  if (claim !== null) return <>by {claim.by}</>;
  return null;
}
