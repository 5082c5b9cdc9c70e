import { useState } from 'preact/hooks';
import { api } from '../api/requests.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Field } from './Field.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

/** A note for whoever looks at the invoice next. */
export function NoteDialog({ invoice: { id }, close, done }: InvoiceDialog) {
  const [text, setText] = useState('');
  return (
    <Dialog
      title={`Note on ${id}`}
      action="Add note"
      wrong={text.trim() === '' ? 'Write something.' : undefined}
      close={close}
      act={async () => {
        await api.addNote(id, text);
        announce(`The note is in the timeline of ${id}.`);
        done();
      }}
    >
      <Field name="text" label="Note" value={text} change={setText} maxLength={500} />
    </Dialog>
  );
}
