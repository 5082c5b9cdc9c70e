import { useState } from 'preact/hooks';
import type { LeaseAnswer } from '../../../src/ops/answers/leaseAnswers.ts';
import { CallFailed } from '../api/call.ts';
import { api } from '../api/requests.ts';
import { usePolled } from '../hooks/polled.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { announce } from '../parts/Announcements.tsx';
import { Dialog } from '../parts/Dialog.tsx';
import { Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Status } from '../parts/Status.tsx';
import { type Column, Table } from '../parts/Table.tsx';
import { Time } from '../parts/Time.tsx';

/** Shows who holds each lease, those held longest first. */
export function Leases() {
  const look = usePolled({
    name: 'leases',
    load: api.leases,
    isBusy: ({ locks }) => locks.some(({ held }) => held),
  });
  const [releasing, setReleasing] = useState<LeaseAnswer>();
  const cannotList = look.error instanceof CallFailed && look.error.status === 501;
  return (
    <Page title="Leases">
      {cannotList ? (
        <div class="empty">
          <p>{look.error instanceof Error ? look.error.message : ''}</p>
        </div>
      ) : (
        <Loaded look={look}>
          {({ locks }) => (
            <Table
              caption="Leases"
              columns={columnsWith(setReleasing)}
              rows={locks.toSorted(heldLongestFirst)}
              keyOf={({ key }) => key}
              stateOf={({ owner, fence }) => `${owner} ${fence}`}
              empty={<p>No job has run yet.</p>}
            />
          )}
        </Loaded>
      )}
      {releasing?.owner !== null && releasing !== undefined && (
        <Dialog
          title={`Take ${releasing.key} from ${releasing.owner}?`}
          action="Release"
          danger
          reason="required"
          typed={releasing.key}
          close={() => setReleasing(undefined)}
          act={async (reason = '') => {
            const { key, owner } = releasing;
            const { fence } = await api.release({ key, expectedOwner: owner ?? '', reason });
            announce(`${key} is free; its fence is ${fence} now.`);
            look.reload();
          }}
        >
          <p>
            {releasing.owner} may still be working. What it writes with fence {releasing.fence} is refused
            from now on.
          </p>
        </Dialog>
      )}
    </Page>
  );
}

function columnsWith(release: (lease: LeaseAnswer) => void): readonly Column<LeaseAnswer>[] {
  return [
    { head: 'Key', cell: ({ key }) => <code>{key}</code> },
    { head: 'State', cell: ({ held }) => <Status of={held ? 'held' : 'free'} /> },
    { head: 'Owner', cell: ({ owner }) => owner ?? '–' },
    { head: 'Since', cell: ({ acquiredAt }) => <Time at={acquiredAt} /> },
    { head: 'Expires by', cell: ({ held, expiry }) => (held ? <Time at={expiry} /> : '–') },
    { head: 'Fence', right: true, cell: ({ fence }) => fence },
    {
      head: 'Run',
      // A run that found nothing to do leaves no record.
      cell: ({ held, runId }) =>
        !held || runId === null ? '–' : <Link to={`/runs/${encodeURIComponent(runId)}`}>open</Link>,
    },
    {
      head: 'Action',
      cell: (lease) => (
        <ActionButton
          label="Release…"
          danger
          why={lease.held && lease.owner !== null ? undefined : 'It has no holder.'}
          onClick={() => release(lease)}
        />
      ),
    },
  ];
}

function heldLongestFirst(a: LeaseAnswer, b: LeaseAnswer): number {
  if (a.held !== b.held) return a.held ? -1 : 1;
  if (!a.held) return a.key.localeCompare(b.key, 'en', { numeric: true });
  return Date.parse(a.acquiredAt ?? '') - Date.parse(b.acquiredAt ?? '');
}
