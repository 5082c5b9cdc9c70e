import { useState } from 'preact/hooks';
import type { InvoiceAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api } from '../api/requests.ts';
import { counted, sumsText } from '../format/amountText.ts';
import { inTurns } from '../hooks/inTurns.ts';
import { Dialog } from './Dialog.tsx';
import { failureText } from './Failure.tsx';
import { type NotChanged, Refused } from './Refused.tsx';

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
  /** Called once some are changed; with a text if all are. */
  done: (text: string) => void;
}) {
  const [at, setAt] = useState(0);
  const { title, past } = verbs[action];
  const what = counted(invoices.length, 'invoice');

  async function act(reason = '') {
    const refused: NotChanged[] = [];
    await inTurns(invoices, atOnce, async ({ id }) => {
      try {
        await (action === 'retry' ? api.retry(id, { reason }) : api.void(id, reason));
      } catch (error) {
        refused.push({ id, why: failureText(error) });
      }
      setAt((count) => count + 1);
    });
    const changed = invoices.length - refused.length;
    const text = `${counted(changed, 'invoice')} ${past}.`;
    done(text);
    if (refused.length === 0) return undefined;
    return (
      <>
        <p role="alert">
          {text} {counted(refused.length, 'was', 'were')} not:
        </p>
        <Refused refused={refused} />
      </>
    );
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
          ? 'The next run charges them. Unknown outcomes are retried under the same idempotency key, so none is charged twice.'
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
