import { api } from '../api/requests.ts';
import { counted } from '../format/amountText.ts';
import { usePolled } from '../hooks/polled.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';

/** At most so many ids go into one call. */
const atOnce = 100;

/** Asks before all messages that were given up are sent again; their number comes first. */
export function RedriveAllDialog({ close, done }: { close: () => void; done: () => void }) {
  const { data } = usePolled({ name: 'dead letters to redrive', load: api.deadLetters });
  const ids = data?.deadLetters.map(({ id }) => id) ?? [];
  return (
    <Dialog
      title={data === undefined ? 'Counting …' : `Redrive ${counted(ids.length, 'message')}?`}
      action="Redrive"
      wrong={
        data === undefined
          ? 'Wait for the count.'
          : ids.length === 0
            ? 'There is nothing to redrive.'
            : undefined
      }
      close={close}
      act={async () => {
        announce(await redriven(ids));
        done();
      }}
    >
      <p>Each goes back to its queue. An invoice that is paid already is not charged again.</p>
    </Dialog>
  );
}

/** Redrives messages and says what came of it. */
export async function redriven(ids: readonly string[]): Promise<string> {
  let sent = 0;
  const left: { why: string }[] = [];
  for (let from = 0; from < ids.length; from += atOnce) {
    const answer = await api.redrive(ids.slice(from, from + atOnce));
    sent += answer.redriven.length;
    left.push(...(answer.left ?? []));
  }
  const gone = ids.length - sent - left.length;
  const [first] = left;
  return [
    `${counted(sent, 'message')} sent again.`,
    gone > 0 ? `${gone} no longer there.` : '',
    first === undefined ? '' : `${left.length} still there: ${first.why}.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}
