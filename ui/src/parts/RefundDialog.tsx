import { useState } from 'preact/hooks';
import { parseAmount } from '../../../src/invoice/money.ts';
import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { openDisputes } from '../format/reversalText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Check, Field } from './Field.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

/** A refund of a part, or of all that is left. */
export function RefundDialog({ invoice, close, done }: InvoiceDialog) {
  const { id, amountMinor, currency, reversals } = invoice;
  // The amount left when the dialog opened: after a lost answer the invoice shows less, and the request must stay the same.
  const [left] = useState(amountMinor - (reversals?.refundedMinor ?? 0));
  const [wanted, setWanted] = useState(amountText(left, currency).replaceAll(',', ''));
  const [isDisputed] = useState(openDisputes(invoice).length > 0);
  const [isSure, setSure] = useState(false);
  const parsed = parseAmount(wanted.trim(), currency);
  return (
    <Dialog
      title={`Refund of ${id}: ${amountText(left, currency)} ${currency} left`}
      action="Refund"
      danger
      reason="required"
      wrong={
        isDisputed && !isSure
          ? 'Say that it is to be refunded although it is disputed.'
          : wrongWith(parsed, left)
      }
      close={close}
      stale={done}
      act={async (reason = '', key) => {
        if (parsed.kind === 'bad') return;
        // Always an amount: if less is left by now, the app refuses instead of paying back less than the dialog says.
        const body = { reason, amountMinor: parsed.amountMinor };
        const { amountMinor: ordered } = await api.refund(id, body, key);
        announce(`A refund of ${amountText(ordered, currency)} ${currency} is ordered.`);
        done();
      }}
    >
      {isDisputed && (
        <>
          <p role="alert">
            <strong>This payment is disputed.</strong> If the bank decides for the customer, they get the
            money of the dispute and of this refund. Answer the dispute at the provider instead.
          </p>
          <Check label="Refund it although it is disputed" checked={isSure} change={setSure} />
        </>
      )}
      <p>The money goes back to the customer. This cannot be undone.</p>
      <Field
        name="amountMinor"
        label={`Amount in ${currency}`}
        inputMode="decimal"
        value={wanted}
        change={setWanted}
      />
    </Dialog>
  );
}

function wrongWith(parsed: ReturnType<typeof parseAmount>, left: number): string | undefined {
  if (parsed.kind === 'bad') return `Amount: ${parsed.error}`;
  return parsed.amountMinor > 0 && parsed.amountMinor <= left
    ? undefined
    : 'Amount: expected more than nothing and no more than what is left.';
}
