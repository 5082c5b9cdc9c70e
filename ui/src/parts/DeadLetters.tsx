import { useState } from 'preact/hooks';
import type { DeadLetterAnswer } from '../../../src/ops/answers/messageAnswers.ts';
import { queues, serviceBusQueues } from '../../../src/platform/azureNames.ts';
import { api, withQuery } from '../api/requests.ts';
import { counted } from '../format/amountText.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { CopyId } from './CopyId.tsx';
import { allOr, type Filter, Filters } from './Filters.tsx';
import { Loaded } from './Loaded.tsx';
import { MessageActions } from './MessageActions.tsx';
import { Pager } from './Pager.tsx';
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

const filters: readonly Filter[] = [
  {
    name: 'queue',
    label: 'Queue',
    kind: allOr([serviceBusQueues.paymentCommands, queues.workItems]),
  },
  { name: 'reason', label: 'Why', kind: 'text' },
];

/** Dead letters of Service Bus and poison items, queue by queue, oldest first. */
export function DeadLetters({ place }: { place: Place }) {
  const { query } = place;
  const asked = {
    queue: query.get('queue') ?? undefined,
    reason: query.get('reason') ?? undefined,
    continuation: query.get('page') ?? undefined,
  };
  const look = usePolled({ name: withQuery('dead-letters', asked), load: () => api.deadLetters(asked) });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const mayDiscard = useHasCall('discardDeadLetters');
  const { queue = '', reason = '' } = asked;
  const ids = [...selected].filter((id) => look.data?.deadLetters.some((one) => one.id === id));
  return (
    <Loaded look={look}>
      {({ deadLetters, total, totalIsExact, continuation }) => {
        const many = total === undefined ? '' : counted(total, 'message');
        return (
          <>
            <Filters place={place} filters={filters} />
            <MessageActions
              text={
                ids.length === 0
                  ? `${totalIsExact === false ? 'More than ' : ''}${many}`
                  : `${counted(ids.length, 'message')} selected`
              }
              ids={ids}
              whyNot="Select messages first."
              all={{
                filter: {
                  from: 'dead-letters',
                  ...(queue === '' ? {} : { queue }),
                  ...(reason === '' ? {} : { reason }),
                },
                name: reason !== '' ? 'all that match' : queue === '' ? 'all' : `all of ${queue}`,
                none: deadLetters.length === 0,
              }}
              redrive={{
                says: 'Each goes back to its queue. An invoice that is paid already is not charged again.',
                act: redriven,
              }}
              discard={
                mayDiscard ? async (chosen, reason) => void (await api.discard(chosen, reason)) : undefined
              }
              done={() => {
                setSelected(new Set());
                look.reload();
              }}
            />
            <Table
              caption="Dead letters"
              columns={columns}
              rows={deadLetters}
              keyOf={({ id }) => id}
              selection={{ selected, change: setSelected }}
              empty={<p>No dead letters{queue + reason === '' ? '' : ' match'}.</p>}
            />
            <Pager place={place} continuation={continuation} shown={deadLetters.length} />
          </>
        );
      }}
    </Loaded>
  );
}

/** At most so many ids go into one call. */
const atOnce = 100;

/** Redrives messages and says what came of it. */
async function redriven(ids: readonly string[]): Promise<string> {
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
