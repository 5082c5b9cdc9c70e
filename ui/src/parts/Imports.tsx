import type { ImportViewAnswer } from '../../../src/ops/answers/importAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { countText, sumsText } from '../format/amountText.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { Filters } from './Filters.tsx';
import { Link } from './Link.tsx';
import { Loaded } from './Loaded.tsx';
import { Pager } from './Pager.tsx';
import { Status } from './Status.tsx';
import { type Column, Table } from './Table.tsx';
import { ExactTime } from './Time.tsx';

const columns: readonly Column<ImportViewAnswer>[] = [
  { head: 'Begun', cell: ({ startedAt }) => <ExactTime at={startedAt} /> },
  {
    head: 'File',
    cell: ({ importId, fileName }) => (
      <Link to={`/import/${importId}`}>{fileName ?? 'rows without a file'}</Link>
    ),
  },
  { head: 'By', cell: ({ by }) => by },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Rejected', right: true, cell: ({ rejected }) => countText(rejected) },
  { head: 'Stored', right: true, cell: ({ created }) => countText(created) },
  { head: 'Known already', right: true, cell: ({ duplicates }) => countText(duplicates) },
  { head: 'Amount stored', right: true, cell: ({ sums }) => sumsText(sums) },
];

/** The imports of a day (UTC), newest first. */
export function Imports({ place }: { place: Place }) {
  const today = new Date().toISOString().slice(0, 10);
  const asked = { day: place.query.get('day') ?? today, continuation: place.query.get('page') ?? undefined };
  const look = usePolled({
    name: withQuery('imports', asked),
    load: () => api.imports(asked),
    isBusy: ({ imports }) => imports.some(({ status }) => status === 'running'),
  });
  return (
    <>
      <Filters place={place} filters={[{ name: 'day', label: 'Day (UTC)', kind: 'date', preset: today }]} />
      <Loaded look={look}>
        {({ imports, continuation }) => (
          <>
            <Table
              caption="Imports"
              columns={columns}
              rows={imports}
              keyOf={({ importId }) => importId}
              stateOf={({ status, created, rejected }) => `${status} ${created} ${rejected}`}
              empty={<p>Nothing was imported on this day.</p>}
            />
            <Pager place={place} continuation={continuation} shown={imports.length} />
          </>
        )}
      </Loaded>
    </>
  );
}
