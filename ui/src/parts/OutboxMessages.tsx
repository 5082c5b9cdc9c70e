import { useState } from 'preact/hooks';
import type { OutboxMessageAnswer } from '../../../src/ops/answers/messageAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { counted } from '../format/amountText.ts';
import { inTurns } from '../hooks/inTurns.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { ActionButton } from './ActionButton.tsx';
import { announce } from './Announcements.tsx';
import { CopyId } from './CopyId.tsx';
import { Dialog } from './Dialog.tsx';
import { type Filter, Filters } from './Filters.tsx';
import { Loaded } from './Loaded.tsx';
import { Pager } from './Pager.tsx';
import { Status } from './Status.tsx';
import { type Column, Table } from './Table.tsx';
import { Time } from './Time.tsx';

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    preset: 'pending',
    kind: { options: ['pending', 'parked', 'dispatched', ['all', 'all']] },
  },
];

const columns: readonly Column<OutboxMessageAnswer>[] = [
  { head: 'Id', cell: ({ id }) => <CopyId id={id} /> },
  { head: 'Queue', cell: ({ destination }) => destination },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Age', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: 'Tries', right: true, cell: ({ attempts }) => attempts },
  { head: 'Next try', cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} /> },
  { head: 'Last error', cell: ({ lastError }) => <span class="why">{lastError ?? ''}</span> },
];

/** Messages of the outbox, longest waiting first. */
export function OutboxMessages({ place }: { place: Place }) {
  const status = place.query.get('status') ?? 'pending';
  const asked = {
    status: status === 'all' ? undefined : status,
    continuation: place.query.get('page') ?? undefined,
  };
  const name = withQuery('outbox', asked);
  const look = usePolled({
    name,
    load: () => api.outbox(asked),
    isBusy: ({ messages }) => messages.some((one) => one.status === 'pending'),
  });
  const [selection, setSelection] = useState<{ of: string; ids: ReadonlySet<string> }>({
    of: name,
    ids: new Set(),
  });
  const [asking, setAsking] = useState(false);
  const selected = selection.of === name ? selection.ids : new Set<string>();
  const chosen = look.data?.messages.filter((one) => selected.has(one.id) && one.status === 'parked') ?? [];
  return (
    <>
      <Filters place={place} filters={filters} />
      <Loaded look={look}>
        {({ messages, continuation }) => (
          <>
            {selected.size > 0 && (
              <section class="selection" aria-label="Selection">
                <p>{counted(selected.size, 'message')} selected</p>
                <ActionButton
                  label="Redrive…"
                  why={
                    chosen.length > 0
                      ? undefined
                      : 'Only parked messages are redriven; others go by themselves.'
                  }
                  onClick={() => setAsking(true)}
                />
              </section>
            )}
            <Table
              caption="Messages of the outbox"
              columns={columns}
              rows={messages}
              keyOf={({ id }) => id}
              stateOf={(one) => `${one.status} ${one.attempts}`}
              selection={{ selected, change: (ids) => setSelection({ of: name, ids }) }}
              empty={<p>{status === 'pending' ? 'Nothing waits.' : 'No message is in this state.'}</p>}
            />
            <Pager place={place} continuation={continuation} shown={messages.length} />
          </>
        )}
      </Loaded>
      {asking && (
        <Dialog
          title={`Redrive ${counted(chosen.length, 'message')}?`}
          action="Redrive"
          reason="optional"
          close={() => setAsking(false)}
          act={async (reason) => {
            await inTurns(chosen, 4, async ({ id }) => void (await api.redriveOutbox(id, reason)));
            announce(`${counted(chosen.length, 'message')} will be sent again.`);
            setSelection({ of: name, ids: new Set() });
            look.reload();
          }}
        >
          <p>The sweeper sends them again. First put right what the last error names.</p>
        </Dialog>
      )}
    </>
  );
}
