import { useState } from 'preact/hooks';
import { stepsOf } from '../../../src/invoice/timeline.ts';
import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Check, Field } from './Field.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

/** Another try, with the same key, with a new one, or with another payment method. */
export function RetryDialog({ invoice, close, done }: InvoiceDialog) {
  const { id, amountMinor, currency, payment, status, timeline } = invoice;
  const wasDeclined = status === 'declined' || stepsOf(timeline).at(-1)?.what === 'retry: declined';
  const [notCharged, setNotCharged] = useState(false);
  const [method, setMethod] = useState('');
  const newKey = notCharged || method.trim() !== '' || status === 'declined';
  const isAsked = newKey && !wasDeclined;
  return (
    <Dialog
      title={`Charge ${amountText(amountMinor, currency)} ${currency} for ${id} again?`}
      action="Retry"
      reason={notCharged ? 'required' : 'optional'}
      close={close}
      stale={done}
      act={async (reason) => {
        await api.retry(id, {
          ...(reason === undefined ? {} : { reason }),
          ...(notCharged ? { notCharged: true as const } : {}),
          ...(method.trim() === '' ? {} : { paymentMethod: method.trim() }),
        });
        announce(`${id} is due again; the next run charges it.`);
        done();
      }}
    >
      <p>
        {newKey
          ? `It is a new charge, under a new key.${isAsked ? ' The provider is asked first whether an earlier one went through.' : ''}`
          : `It goes out with key ${payment.keyNumber} again. A charge that went through is found, not repeated.`}
      </p>
      <Field
        name="paymentMethod"
        label="Another payment method (optional)"
        value={method}
        placeholder="pm_…"
        change={setMethod}
      />
      {!wasDeclined && (
        <Check label="I checked: nothing was charged" checked={notCharged} change={setNotCharged} />
      )}
    </Dialog>
  );
}
