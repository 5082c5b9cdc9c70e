import { useState } from 'preact/hooks';
import type { DeadLetterAnswer } from '../../../src/ops/answers/messageAnswers.ts';
import { api } from '../api/requests.ts';
import { counted } from '../format/amountText.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { ActionButton } from './ActionButton.tsx';
import { announce } from './Announcements.tsx';
import { BulkAllDialog } from './BulkAllDialog.tsx';
import { CopyId } from './CopyId.tsx';
import { Dialog } from './Dialog.tsx';
import { Filters } from './Filters.tsx';
import { Loaded } from './Loaded.tsx';
import { RedriveAllDialog, redriven } from './RedriveAllDialog.tsx';
import { type Column, Table } from './Table.tsx';
import { Time } from './Time.tsx';

const columns: readonly Column<DeadLetterAnswer>[] = [
  { head: 'Id', cell: ({ id }) => <CopyId id={id} /> },
  { head: 'Queue', cell: ({ source }) => source },
  { head: 'Age', cell: ({ at }) => <Time at={at} /> },
  { head: 'Why', cell: ({ reason }) => <span class="why">{reason}</span> },
  { head: 'Body', cell: Body },
];

function Body({ body }: DeadLetterAnswer) {
  return (
    <details>
      <summary>Show</summary>
      <pre>{typeof body === 'string' ? body : JSON.stringify(body, null, 2)}</pre>
    </details>
  );
}

/** Messages that were given up: dead letters of Service Bus and poison items, oldest first. */
export function DeadLetters({ place }: { place: Place }) {
  const look = usePolled({ name: 'dead letters', load: api.deadLetters });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<'redrive' | 'discard' | 'all'>();
  const mayDiscard = useHasCall('discardDeadLetters');
  const isOnePage = look.data?.continuation === null;
  const queue = place.query.get('queue') ?? '';
  const ids = [...selected].filter((id) => look.data?.deadLetters.some((one) => one.id === id));
  const after = (text: string) => {
    announce(text);
    setSelected(new Set());
    look.reload();
  };
  return (
    <>
      <Loaded look={look}>
        {({ deadLetters, total }) => {
          const queues = [...new Set(deadLetters.map(({ source }) => source))];
          const shown = deadLetters
            .filter(({ source }) => queue === '' || source === queue)
            .toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? -1 : 1));
          return (
            <>
              {queues.length > 1 && (
                <Filters
                  place={place}
                  filters={[{ name: 'queue', label: 'Queue', kind: { options: [['', 'all'], ...queues] } }]}
                />
              )}
              <section class="selection" aria-label="Selection">
                <p>
                  {ids.length === 0
                    ? counted(total ?? deadLetters.length, 'message')
                    : `${counted(ids.length, 'message')} selected`}
                </p>
                <ActionButton
                  label="Redrive…"
                  why={ids.length > 0 ? undefined : 'Select messages first.'}
                  onClick={() => setAsking('redrive')}
                />
                {mayDiscard && (
                  <ActionButton
                    label="Discard…"
                    danger
                    why={ids.length > 0 ? undefined : 'Select messages first.'}
                    onClick={() => setAsking('discard')}
                  />
                )}
                <ActionButton
                  label="Redrive all…"
                  why={deadLetters.length > 0 ? undefined : 'There is nothing to redrive.'}
                  onClick={() => setAsking('all')}
                />
              </section>
              <Table
                caption="Messages that were given up"
                columns={columns}
                rows={shown}
                keyOf={({ id }) => id}
                selection={{ selected, change: setSelected }}
                empty={<p>Nothing was given up.</p>}
              />
            </>
          );
        }}
      </Loaded>
      {asking === 'all' && isOnePage && (
        <RedriveAllDialog close={() => setAsking(undefined)} done={look.reload} />
      )}
      {asking === 'all' && !isOnePage && (
        <BulkAllDialog
          request={{ action: 'redrive', filter: { from: 'dead-letters' } }}
          what="message"
          close={() => setAsking(undefined)}
        />
      )}
      {asking === 'redrive' && (
        <Dialog
          title={`Redrive ${counted(ids.length, 'message')}?`}
          action="Redrive"
          close={() => setAsking(undefined)}
          act={async () => after(await redriven(ids))}
        >
          <p>Each goes back to its queue. An invoice that is paid already is not charged again.</p>
        </Dialog>
      )}
      {asking === 'discard' && (
        <Dialog
          title={`Discard ${counted(ids.length, 'message')} for good?`}
          action="Discard"
          danger
          reason="required"
          close={() => setAsking(undefined)}
          act={async (reason = '') => {
            await api.discard(ids, reason);
            after(`${counted(ids.length, 'message')} discarded.`);
          }}
        >
          <p>Their invoices stay as they are. This cannot be undone.</p>
        </Dialog>
      )}
    </>
  );
}
