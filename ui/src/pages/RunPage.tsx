import { useRef, useState } from 'preact/hooks';
import { splitCounts } from '../../../src/invoice/amountCounts.ts';
import type { RunAnswer } from '../../../src/ops/answers/runAnswers.ts';
import { CallFailed } from '../api/call.ts';
import { allOf, api } from '../api/requests.ts';
import { countText, sumsText } from '../format/amountText.ts';
import { bulkText } from '../format/bulkText.ts';
import { go } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { announce } from '../parts/Announcements.tsx';
import { CopyId } from '../parts/CopyId.tsx';
import { Dialog } from '../parts/Dialog.tsx';
import { Fact } from '../parts/Fact.tsx';
import { Failure } from '../parts/Failure.tsx';
import { Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Refused } from '../parts/Refused.tsx';
import { claimedOf, groupsDone, tookText } from '../parts/RunTable.tsx';
import { Status } from '../parts/Status.tsx';
import { type Column, Table } from '../parts/Table.tsx';
import { Time } from '../parts/Time.tsx';

type Group = RunAnswer['groups'][string] & { name: string };

const columns: readonly Column<Group>[] = [
  { head: 'Group', cell: ({ name }) => name },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Owner', cell: ({ lockOwner }) => lockOwner ?? '–' },
  { head: 'Fence', right: true, cell: ({ fence }) => fence ?? '–' },
  { head: 'Counts', cell: ({ counts }) => countsText(counts) },
  { head: 'Why', cell: ({ reason }) => reason ?? '' },
];

/** Groups that need a look come first. */
const order: readonly Group['status'][] = [
  'lost',
  'failed',
  'partial',
  'running',
  'pending',
  'skipped',
  'completed',
];
/** Groups that a resumed run does again. */
const unfinished: readonly Group['status'][] = ['lost', 'failed', 'partial', 'skipped', 'pending', 'running'];

/** The record of a run that was started is there within this time. */
const appearsWithinMs = 60_000;

/** One run, group by group. */
export function RunPage({ id }: { id: string }) {
  const opened = useRef(Date.now());
  const look = usePolled({
    name: `run ${id}`,
    load: () => recordOf(id),
    isBusy: (found) =>
      found === 'not there' ? Date.now() - opened.current < appearsWithinMs : found.status === 'running',
  });
  const [open, setOpen] = useState<'cancel' | 'resume'>();
  const run = look.data === 'not there' ? undefined : look.data;
  return (
    <Page
      title={(run && bulkText(run)?.title) ?? 'Run'}
      actions={
        run !== undefined && (
          <>
            <ActionButton
              label="Cancel…"
              why={run.status === 'running' ? undefined : `It is ${run.status}.`}
              danger
              onClick={() => setOpen('cancel')}
            />
            <ActionButton label="Resume…" why={whyNotResumed(run)} onClick={() => setOpen('resume')} />
          </>
        )
      }
    >
      <Loaded look={look}>
        {(found) =>
          found === 'not there' ? (
            <div class="empty">
              <p>There is no record of this run. One that has just been started appears in a moment.</p>
              <button type="button" onClick={look.reload}>
                Look again
              </button>
            </div>
          ) : (
            <Details run={found} />
          )
        }
      </Loaded>
      {open === 'cancel' && run !== undefined && (
        <CancelDialog run={run} close={() => setOpen(undefined)} done={look.reload} />
      )}
      {open === 'resume' && run !== undefined && <ResumeDialog run={run} close={() => setOpen(undefined)} />}
    </Page>
  );
}

/** The record of a run that has just been started appears with its first group. */
async function recordOf(id: string): Promise<RunAnswer | 'not there'> {
  try {
    return await api.run(id);
  } catch (error) {
    if (error instanceof CallFailed && error.status === 404) return 'not there';
    throw error;
  }
}

function Details({ run }: { run: RunAnswer }) {
  const groups = groupsOf(run);
  const bulk = bulkText(run);
  const sums = sumsText(splitCounts(run.counts).sums);
  const ended = groups.filter(({ status }) => status !== 'pending' && status !== 'running').length;
  return (
    <>
      <p class="story">
        <Status of={run.status} /> {run.dryRun && 'A preview: nothing is claimed. '}
        {run.reason}
        {run.status === 'running' && Date.now() - Date.parse(run.heartbeatAt) > 120_000 && (
          <strong>
            No sign of life since <Time at={run.heartbeatAt} />.
          </strong>
        )}
      </p>
      {bulk === undefined || run.dryRun ? (
        <progress max={groups.length} value={ended} aria-label="Groups that have ended">
          {groupsDone(run.groups)}
        </progress>
      ) : (
        <p>
          <progress
            max={Math.max(1, bulk.planned ?? bulk.changed + bulk.notChanged)}
            value={bulk.changed + bulk.notChanged}
            aria-label="Done"
          />{' '}
          {countText(bulk.changed)} of {countText(bulk.planned ?? bulk.changed + bulk.notChanged)} changed
          {bulk.notChanged > 0 && `, ${countText(bulk.notChanged)} not`}
        </p>
      )}
      <dl class="facts">
        <Fact name="Run">
          <CopyId id={run.runId} />
        </Fact>
        {bulk === undefined ? (
          <Fact name={run.dryRun ? 'Would claim' : 'Claimed'}>
            {countText(claimedOf(run.counts))}{' '}
            <span class="quiet">({countsText(run.counts) || 'nothing yet'})</span>
          </Fact>
        ) : (
          <>
            <Fact name="By">{bulk.actor}</Fact>
            <Fact name="Reason">{bulk.reason}</Fact>
            <Fact name="Of those with">{bulk.filter || 'no other condition'}</Fact>
            <Fact name="Counts">{countsText(run.counts) || 'nothing yet'}</Fact>
          </>
        )}
        {!run.dryRun && (
          <Fact name="Invoices">
            <Link to={`/invoices?${new URLSearchParams({ run: run.runId })}`}>those that it has changed</Link>
          </Fact>
        )}
        {sums !== '' && <Fact name="Amount">{sums}</Fact>}
        <Fact name="Groups">{groupsDone(run.groups)} ended</Fact>
        <Fact name="Started">
          <Time at={run.startedAt} />, {run.trigger}
        </Fact>
        <Fact name="Took">{tookText(run)}</Fact>
        <Fact name="Sign of life">
          <Time at={run.heartbeatAt} />
        </Fact>
        {run.traceId !== null && (
          <Fact name="Trace">
            <CopyId id={run.traceId} />
          </Fact>
        )}
      </dl>
      {bulk !== undefined && bulk.notChanged > 0 && <NotChangedBy run={run} count={bulk.notChanged} />}
      <h2>Groups</h2>
      <Table
        caption="Groups of the run"
        columns={columns}
        rows={groups}
        keyOf={({ name }) => name}
        stateOf={({ status, counts }) => `${status} ${countsText(counts)}`}
        empty={<p>It has no groups.</p>}
      />
      <p>
        <Link to="/runs">All runs</Link>
      </p>
    </>
  );
}

/** Objects that a bulk run did not change; all of them are read, a page at a time. */
function NotChangedBy({ run: { runId }, count }: { run: RunAnswer; count: number }) {
  const { data, error, reload } = usePolled({
    name: `refused ${runId} ${count}`,
    load: () =>
      allOf(
        (query) => api.refused(runId, query),
        ({ refused }) => refused,
      ),
    once: true,
  });
  return (
    <>
      <h2>Not changed</h2>
      {error !== undefined && <Failure error={error} retry={reload} />}
      {data !== undefined && <Refused refused={data} />}
    </>
  );
}

function groupsOf({ groups }: RunAnswer): Group[] {
  return Object.entries(groups)
    .map(([name, group]) => ({ ...group, name }))
    .toSorted(
      (a, b) =>
        order.indexOf(a.status) - order.indexOf(b.status) ||
        a.name.localeCompare(b.name, 'en', { numeric: true }),
    );
}

/** `claimed 96, contended 2`; counts of nothing are left out. */
function countsText(counts: RunAnswer['counts']): string {
  return splitCounts(counts)
    .others.filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${countText(count)}`)
    .join(', ');
}

function whyNotResumed(run: RunAnswer): string | undefined {
  if (run.status === 'running') return 'It is still running.';
  return groupsOf(run).some(({ status }) => unfinished.includes(status))
    ? undefined
    : 'All its groups have completed.';
}

function CancelDialog({ run, close, done }: { run: RunAnswer; close: () => void; done: () => void }) {
  return (
    <Dialog
      title="Cancel this run?"
      action="Cancel the run"
      danger
      reason="optional"
      close={close}
      act={async (reason) => {
        await api.cancelRun(run.runId, reason);
        announce('The run is cancelled.');
        done();
      }}
    >
      <p>Its groups stop after their current batch. What is claimed is still paid; payments stay.</p>
    </Dialog>
  );
}

function ResumeDialog({ run, close }: { run: RunAnswer; close: () => void }) {
  const left = groupsOf(run).filter(({ status }) => unfinished.includes(status)).length;
  return (
    <Dialog
      title={`Resume ${left} unfinished ${left === 1 ? 'group' : 'groups'}?`}
      action="Resume"
      close={close}
      act={async (_, key) => {
        const body = { job: run.job, resume: run.runId, dryRun: run.dryRun };
        const { runId } = await api.startRun(body, key);
        announce('A new run does the rest.');
        go(`/runs/${runId}`);
      }}
    >
      <p>A new run does the groups that have not completed.</p>
    </Dialog>
  );
}
