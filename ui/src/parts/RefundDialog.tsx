import { useState } from 'preact/hooks';
import { parseAmount } from '../../../src/invoice/money.ts';
import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import type { InvoiceDialog } from './invoiceDialog.ts';

/** A refund of a part, or of all that is left. */
export function RefundDialog({ invoice, close, done }: InvoiceDialog) {
  const { id, amountMinor, currency, reversals } = invoice;
  // The amount left when the dialog opened: after a lost answer the invoice shows less, and the request must stay the same.
  const [left] = useState(amountMinor - (reversals?.refundedMinor ?? 0));
  const [wanted, setWanted] = useState(amountText(left, currency).replaceAll(',', ''));
  const parsed = parseAmount(wanted.trim(), currency);
  return (
    <Dialog
      title={`Refund of ${id}: ${amountText(left, currency)} ${currency} left`}
      action="Refund"
      danger
      reason="required"
      wrong={wrongWith(parsed, left)}
      close={close}
      act={async (reason = '', keyOf) => {
        if (parsed.kind === 'bad') return;
        // Always an amount: if less is left by now, the app refuses instead of paying back less than the dialog says.
        const body = { reason, amountMinor: parsed.amountMinor };
        const { amountMinor: ordered } = await api.refund(id, body, keyOf(body));
        announce(`A refund of ${amountText(ordered, currency)} ${currency} is ordered.`);
        done();
      }}
    >
      <p>The money goes back to the customer. This cannot be undone.</p>
      <label class="field">
        Amount in {currency}
        <input inputMode="decimal" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
    </Dialog>
  );
}

function wrongWith(parsed: ReturnType<typeof parseAmount>, left: number): string | undefined {
  if (parsed.kind === 'bad') return `Amount: ${parsed.error}`;
  return parsed.amountMinor > 0 && parsed.amountMinor <= left
    ? undefined
    : 'Amount: expected more than nothing and no more than what is left.';
}
