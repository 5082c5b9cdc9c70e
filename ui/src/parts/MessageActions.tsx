import { useState } from 'preact/hooks';
import { counted } from '../format/amountText.ts';
import { useHasCall } from '../hooks/session.ts';
import { ActionButton } from './ActionButton.tsx';
import { announce } from './Announcements.tsx';
import { BulkAllDialog } from './BulkAllDialog.tsx';
import { Dialog } from './Dialog.tsx';

/** Offers what can be done with messages that are stuck: with those selected, or with all of them. */
export function MessageActions({
  text,
  ids,
  whyNot,
  all,
  redrive,
  discard,
  done,
}: {
  text: string;
  /** Those selected that can be redriven and discarded. */
  ids: readonly string[];
  /** Why nothing can be done with what is selected now. */
  whyNot: string;
  /** The filter of a bulk change of all of them, and how its buttons call them. */
  all: {
    filter: Readonly<Record<string, string | undefined>>;
    name: string;
    /** It is known that there is none. */
    none?: boolean;
  };
  redrive: {
    says: string;
    reason?: 'optional';
    /** Resolves with what came of it, in words. */
    act: (ids: readonly string[], reason?: string) => Promise<string>;
  };
  /** Absent if the app has no such call. */
  discard: ((ids: readonly string[], reason: string) => Promise<void>) | undefined;
  done: () => void;
}) {
  const [asking, setAsking] = useState<{ action: 'redrive' | 'discard'; of: 'selected' | 'all' }>();
  const mayBulk = useHasCall('startBulk');
  const whyNone = all.none ? 'There is none.' : undefined;
  const close = () => setAsking(undefined);
  const why = ids.length > 0 ? undefined : whyNot;
  const after = (result: string) => {
    announce(result);
    done();
  };
  return (
    <section class="selection" aria-label="Selection">
      <p>{text}</p>
      <ActionButton
        label="Redrive…"
        why={why}
        onClick={() => setAsking({ action: 'redrive', of: 'selected' })}
      />
      {discard !== undefined && (
        <ActionButton
          label="Discard…"
          danger
          why={why}
          onClick={() => setAsking({ action: 'discard', of: 'selected' })}
        />
      )}
      {mayBulk && (
        <>
          <ActionButton
            label={`Redrive ${all.name}…`}
            why={whyNone}
            onClick={() => setAsking({ action: 'redrive', of: 'all' })}
          />
          <ActionButton
            label={`Discard ${all.name}…`}
            danger
            why={whyNone}
            onClick={() => setAsking({ action: 'discard', of: 'all' })}
          />
        </>
      )}
      {asking?.of === 'all' && (
        <BulkAllDialog request={{ action: asking.action, filter: all.filter }} what="message" close={close} />
      )}
      {asking?.of === 'selected' && asking.action === 'redrive' && (
        <Dialog
          title={`Redrive ${counted(ids.length, 'message')}?`}
          action="Redrive"
          {...(redrive.reason === undefined ? {} : { reason: redrive.reason })}
          close={close}
          act={async (reason) => {
            const result = await redrive.act(ids, reason);
            after(result);
            return result.includes('still there') ? <p role="alert">{result}</p> : undefined;
          }}
        >
          <p>{redrive.says}</p>
        </Dialog>
      )}
      {asking?.of === 'selected' && asking.action === 'discard' && discard !== undefined && (
        <Dialog
          title={`Discard ${counted(ids.length, 'message')} for good?`}
          action="Discard"
          danger
          reason="required"
          close={close}
          act={async (reason = '') => {
            await discard(ids, reason);
            after(`${counted(ids.length, 'message')} discarded.`);
          }}
        >
          <p>Their invoices stay as they are. This cannot be undone.</p>
        </Dialog>
      )}
    </section>
  );
}
