import { useState } from 'preact/hooks';
import { api, withQuery } from '../api/requests.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { allOr, type Filter, Filters } from '../parts/Filters.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Pager } from '../parts/Pager.tsx';
import { RunTable } from '../parts/RunTable.tsx';
import { StartRunButton, StartRunDialog } from '../parts/StartRunDialog.tsx';

const filters: readonly Filter[] = [
  {
    name: 'status',
    label: 'Status',
    kind: allOr(['running', 'completed', 'failed', 'abandoned', 'cancelled']),
  },
  { name: 'job', label: 'Kind', kind: { '': 'all', 'process-invoices': 'payments', bulk: 'bulk changes' } },
];

/** Runs of payments and of bulk changes, newest first, and the buttons that start one. */
export function Runs({ place }: { place: Place }) {
  const asked = {
    job: place.query.get('job') ?? 'all',
    status: place.query.get('status') ?? undefined,
    continuation: place.query.get('page') ?? undefined,
  };
  const look = usePolled({
    name: withQuery('runs', asked),
    load: () => api.runs(asked),
    isBusy: ({ runs }) => runs.some(({ status }) => status === 'running'),
  });
  const [previewing, setPreviewing] = useState(false);
  return (
    <Page
      title="Runs"
      actions={
        <>
          <ActionButton label="Preview…" onClick={() => setPreviewing(true)} />
          <StartRunButton />
        </>
      }
    >
      <Filters place={place} filters={filters} />
      <Loaded look={look}>
        {({ runs, continuation }) => (
          <>
            <RunTable
              runs={runs}
              caption="Runs"
              empty={<p>No run matches. A tick of the timer that finds nothing to do leaves no record.</p>}
            />
            <Pager place={place} continuation={continuation} shown={runs.length} />
          </>
        )}
      </Loaded>
      {previewing && <StartRunDialog preview close={() => setPreviewing(false)} />}
    </Page>
  );
}
