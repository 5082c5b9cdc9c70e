import { api } from '../api/requests.ts';
import { amountText } from '../format/amountText.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';

/** A refund that waits for a person, and the provider's refund that may be it. */
export interface Unsettled {
  refundId: string;
  providerId: string;
  amountMinor: number;
}

/** A person's word on a refund that may have been made by hand. */
export function SettleRefundDialog({
  invoiceId,
  refundId,
  providerId,
  amountMinor,
  currency,
  isSame,
  close,
  done,
}: Unsettled & {
  invoiceId: string;
  currency: string;
  isSame: boolean;
  close: () => void;
  done: () => void;
}) {
  const amount = `${amountText(amountMinor, currency)} ${currency}`;
  return (
    <Dialog
      title={isSame ? `The refund of ${amount} is ${providerId}` : `Refund ${amount} as well`}
      action={isSame ? 'This is it' : 'Order it as well'}
      danger={!isSame}
      reason="required"
      close={close}
      act={async (reason = '') => {
        const { reversals } = await api.settleRefund(invoiceId, { refundId, providerId, isSame, reason });
        const waits = reversals?.refunds.some(({ id, mayBe }) => id === refundId && mayBe !== undefined);
        announce(
          isSame
            ? 'The refund is done.'
            : waits
              ? 'Nothing is ordered yet: there is another refund of this amount that it may be.'
              : `A refund of ${amount} is ordered.`,
        );
        done();
      }}
    >
      <p>
        {isSame
          ? 'Nothing more goes back to the customer.'
          : `The customer gets ${amount} once more. This cannot be undone.`}
      </p>
    </Dialog>
  );
}
