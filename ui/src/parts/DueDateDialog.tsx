import { useState } from 'preact/hooks';
import { api } from '../api/requests.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Field } from './Field.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

export function DueDateDialog({ invoice: { id, dueAt }, close, done }: InvoiceDialog) {
  const [wanted, setWanted] = useState(dueAt.slice(0, 16));
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(wanted);
  const isPast = isTime && Date.parse(`${wanted}:00Z`) <= Date.now();
  return (
    <Dialog
      title={`Move the due date of ${id}?`}
      action="Move"
      reason={isPast ? 'required' : 'optional'}
      wrong={isTime ? undefined : 'Give a date and a time.'}
      close={close}
      stale={done}
      act={async (reason) => {
        await api.moveDueDate(id, { dueAt: `${wanted}:00Z`, ...(reason === undefined ? {} : { reason }) });
        announce(`The due date of ${id} is moved.`);
        done();
      }}
    >
      <Field name="dueAt" label="Due (UTC)" isTime value={wanted} change={setWanted} />
      {isPast && <p role="status">This time is in the past: the invoice is charged at the next run.</p>}
    </Dialog>
  );
}
