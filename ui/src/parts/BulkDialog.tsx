import { useState } from 'preact/hooks';
import type { InvoiceAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api } from '../api/requests.ts';
import { counted, sumsText } from '../format/amountText.ts';
import { inTurns } from '../hooks/inTurns.ts';
import { Dialog } from './Dialog.tsx';
import { failureText } from './Failure.tsx';

const verbs = {
  retry: { title: 'Retry', past: 'put back to pending' },
  void: { title: 'Void', past: 'voided' },
} as const;

/** Calls in flight at a time. */
const atOnce = 4;

/** Asks before selected invoices are retried or voided: their count and sums come first. */
export function BulkDialog({
  action,
  invoices,
  close,
  done,
}: {
  action: 'retry' | 'void';
  invoices: readonly InvoiceAnswer[];
  close: () => void;
  done: (text: string) => void;
}) {
  const [at, setAt] = useState(0);
  const { title, past } = verbs[action];
  const what = counted(invoices.length, 'invoice');

  async function act(reason = ''): Promise<void> {
    const refused: string[] = [];
    await inTurns(invoices, atOnce, async ({ id }) => {
      try {
        await (action === 'retry' ? api.retry(id, { reason }) : api.void(id, reason));
      } catch (error) {
        refused.push(`${id}: ${failureText(error)}`);
      }
      setAt((count) => count + 1);
    });
    const changed = invoices.length - refused.length;
    if (changed === 0) throw new Error(refused[0]);
    const rest = refused.length === 0 ? '' : ` Not so: ${refused.join('; ')}`;
    done(`${counted(changed, 'invoice')} ${past}.${rest}`);
  }

  return (
    <Dialog
      title={`${title} ${what} (${sumsText(invoices)})?`}
      action={`${title} ${what}`}
      reason="required"
      danger={action === 'void'}
      act={act}
      close={close}
    >
      <p>
        {action === 'retry'
          ? 'The next run charges them. Unknown charges keep their key, so none is charged twice.'
          : 'They are never charged. A live payment is cancelled first; one that was charged is kept.'}
      </p>
      {at > 0 && (
        <progress max={invoices.length} value={at} aria-label="Done">
          {at}
        </progress>
      )}
    </Dialog>
  );
}
