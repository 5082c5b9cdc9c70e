import { api, type BulkRequest } from '../api/requests.ts';
import { counted, countText, sumsText } from '../format/amountText.ts';
import { useBulkCount } from '../hooks/bulkCount.ts';
import { go } from '../hooks/location.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';

const verbs: Readonly<Record<BulkRequest['action'], { title: string; says: string }>> = {
  retry: {
    title: 'Retry',
    says: 'The next runs charge them. Unknown outcomes are retried under the same idempotency key, so none is charged twice.',
  },
  void: {
    title: 'Void',
    says: 'They are never charged. A live payment is cancelled first; one that was charged is kept.',
  },
  redrive: {
    title: 'Redrive',
    says: 'Each goes back to its queue. An invoice that is paid already is not charged again.',
  },
  discard: { title: 'Discard', says: 'They are gone for good; their invoices stay as they are.' },
};

/** Asks before everything that matches a filter is changed. It counts first, and no more than that is changed. */
export function BulkAllDialog({
  request,
  what,
  close,
}: {
  request: BulkRequest;
  what: 'invoice' | 'message';
  close: () => void;
}) {
  const counting = useBulkCount(request);
  const { title, says } = verbs[request.action];
  const count = counting.kind === 'counted' ? counting.count : 0;
  const sums = counting.kind === 'counted' ? sumsText(counting.sums) : '';
  return (
    <Dialog
      title={
        counting.kind === 'counted'
          ? `${title} ${counted(count, what)}${sums === '' ? '' : ` (${sums})`}?`
          : `${title}: counting …`
      }
      action={title}
      reason="required"
      danger={request.action === 'void' || request.action === 'discard'}
      // A message that is redriven charges nothing twice, and can be redriven again.
      {...(count > 0 && request.action !== 'redrive' ? { typed: String(count) } : {})}
      wrong={
        counting.kind === 'failed'
          ? counting.why
          : counting.kind === 'counting'
            ? 'Wait for the count.'
            : count === 0
              ? 'Nothing matches.'
              : undefined
      }
      close={close}
      act={async (reason = '', key) => {
        const body = { ...request, reason, cap: count };
        const { runId } = await api.bulk(body, key);
        announce(`A run changes up to ${countText(count)} of them.`);
        go(`/runs/${runId}`);
      }}
    >
      <p>{says}</p>
    </Dialog>
  );
}
