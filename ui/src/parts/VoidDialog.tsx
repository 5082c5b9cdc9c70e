import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

/** Voids an invoice, or undoes that. */
function AskedVoid({ invoice, close, done, undo }: InvoiceDialog & { undo: boolean }) {
  const { id, amountMinor, currency } = invoice;
  const amount = `${amountText(amountMinor, currency)} ${currency}`;
  return (
    <Dialog
      title={undo ? `Undo the void of ${id} (${amount})?` : `Void ${id} (${amount})?`}
      action={undo ? 'Undo the void' : 'Void'}
      danger={!undo}
      reason="required"
      close={close}
      stale={done}
      act={async (reason = '') => {
        await (undo ? api.undoVoid(id, reason) : api.void(id, reason));
        announce(undo ? `${id} is to be charged again.` : `${id} is void.`);
        done();
      }}
    >
      <p>
        {!undo
          ? 'It is never charged. If it may have been charged, the provider is asked first; a live payment is cancelled.'
          : Date.parse(invoice.dueAt) > Date.now()
            ? 'It is charged when it falls due.'
            : 'It is due: it is charged at the next run.'}
      </p>
    </Dialog>
  );
}

export function VoidDialog(props: InvoiceDialog) {
  return <AskedVoid {...props} undo={false} />;
}

export function UndoVoidDialog(props: InvoiceDialog) {
  return <AskedVoid {...props} undo />;
}
