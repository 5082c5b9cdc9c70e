import { useState } from 'preact/hooks';
import { api } from '../api/requests.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

export function DueDateDialog({ invoice: { id, dueAt }, close, done }: InvoiceDialog) {
  const [wanted, setWanted] = useState(dueAt.slice(0, 16));
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(wanted);
  return (
    <Dialog
      title={`Move the due date of ${id}?`}
      action="Move"
      wrong={isTime ? undefined : 'Give a date and a time.'}
      close={close}
      act={async () => {
        await api.moveDueDate(id, `${wanted}:00Z`);
        announce(`The due date of ${id} is moved.`);
        done();
      }}
    >
      <label class="field">
        Due (UTC)
        <input
          type="datetime-local"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      </label>
    </Dialog>
  );
}
