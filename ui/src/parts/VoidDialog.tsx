import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

export function VoidDialog({ invoice: { id, amountMinor, currency }, close, done }: InvoiceDialog) {
  return (
    <Dialog
      title={`Void ${id} (${amountText(amountMinor, currency)} ${currency})?`}
      action="Void"
      danger
      reason="required"
      close={close}
      stale={done}
      act={async (reason = '') => {
        await api.void(id, reason);
        announce(`${id} is void.`);
        done();
      }}
    >
      <p>
        It is never charged. If it may have been charged, the provider is asked first; a live payment is
        cancelled.
      </p>
    </Dialog>
  );
}
