import { useState } from 'preact/hooks';
import type { OutboxMessageAnswer } from '../../../src/ops/answers/messageAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { counted } from '../format/amountText.ts';
import { inTurns } from '../hooks/inTurns.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { CopyId } from './CopyId.tsx';
import { type Filter, Filters } from './Filters.tsx';
import { Loaded } from './Loaded.tsx';
import { MessageActions } from './MessageActions.tsx';
import { Pager } from './Pager.tsx';
import { Status } from './Status.tsx';
import { type Column, Table } from './Table.tsx';
import { Time } from './Time.tsx';

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    preset: 'pending',
    kind: { pending: 'pending', parked: 'parked', dispatched: 'dispatched', all: 'all' },
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
  const mayDiscard = useHasCall('discardOutbox');
  const selected = selection.of === name ? selection.ids : new Set<string>();
  const chosen = look.data?.messages.filter((one) => selected.has(one.id) && one.status === 'parked') ?? [];
  return (
    <>
      <Filters place={place} filters={filters} />
      <Loaded look={look}>
        {({ messages, continuation, total }) => (
          <>
            <MessageActions
              text={
                selected.size > 0
                  ? `${counted(selected.size, 'message')} selected`
                  : counted(total ?? messages.length, 'message')
              }
              ids={chosen.map(({ id }) => id)}
              whyNot={
                selected.size > 0
                  ? 'Only parked messages can be changed; others go by themselves.'
                  : 'Select messages first.'
              }
              all={{ filter: { from: 'outbox' }, name: 'all parked' }}
              redrive={{
                says: 'The sweeper sends them again. First put right what the last error names.',
                reason: 'optional',
                act: async (ids, reason) => {
                  await inTurns(ids, 4, async (id) => void (await api.redriveOutbox(id, reason)));
                  return `${counted(ids.length, 'message')} will be sent again.`;
                },
              }}
              discard={
                mayDiscard
                  ? (ids, reason) => inTurns(ids, 4, async (id) => void (await api.discardOutbox(id, reason)))
                  : undefined
              }
              done={() => {
                setSelection({ of: name, ids: new Set() });
                look.reload();
              }}
            />
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
    </>
  );
}
