import type { ComponentChildren } from 'preact';
import type { RunAnswer } from '../../../src/ops/answers/runAnswers.ts';
import { countText } from '../format/amountText.ts';
import { bulkText } from '../format/bulkText.ts';
import { duration } from '../format/relativeTime.ts';
import { Link } from './Link.tsx';
import { Status } from './Status.tsx';
import { type Column, Table } from './Table.tsx';
import { Time } from './Time.tsx';

const columns: readonly Column<RunAnswer>[] = [
  {
    head: 'Started',
    cell: ({ runId, startedAt }) => (
      <Link to={`/runs/${encodeURIComponent(runId)}`}>
        <Time at={startedAt} />
      </Link>
    ),
  },
  { head: 'Kind', cell: kindOf },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Groups', right: true, cell: ({ groups }) => groupsDone(groups) },
  { head: 'Done', right: true, cell: doneOf },
  { head: 'Duration', right: true, cell: tookText },
  { head: 'By', cell: (run) => bulkText(run)?.actor ?? run.lockOwner ?? '–' },
];

function kindOf(run: RunAnswer) {
  const preview = run.dryRun ? 'preview' : '';
  const bulk = bulkText(run);
  if (bulk === undefined) return preview || `payments, ${run.trigger}`;
  return (
    <>
      {bulk.title}
      {preview !== '' && ' (preview)'}
      <span class="quiet why"> {[bulk.filter, bulk.reason].filter((text) => text !== '').join('; ')}</span>
    </>
  );
}

/** `96 claimed`, `32 of 132`. */
function doneOf(run: RunAnswer): string {
  const bulk = bulkText(run);
  if (bulk === undefined) return `${countText(claimedOf(run.counts))} claimed`;
  if (run.dryRun) return `${countText(bulk.planned ?? 0)} counted`;
  return bulk.planned === undefined
    ? countText(bulk.changed)
    : `${countText(bulk.changed)} of ${countText(bulk.planned)}`;
}

/** Runs, newest first. */
export function RunTable({
  runs,
  caption,
  empty,
}: {
  runs: readonly RunAnswer[];
  caption: string;
  empty: ComponentChildren;
}) {
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={runs}
      keyOf={({ runId }) => runId}
      stateOf={({ status }) => status}
      empty={empty}
    />
  );
}

/** `3/4`: groups that have ended, of all. */
export function groupsDone(groups: RunAnswer['groups']): string {
  const all = Object.values(groups);
  return `${all.filter(({ status }) => status !== 'pending' && status !== 'running').length}/${all.length}`;
}

/** Invoices that a run has claimed, or would claim. */
export function claimedOf(counts: RunAnswer['counts']): number {
  return (counts.claimed ?? 0) + (counts.reclaimed ?? 0);
}

export function tookText({ startedAt, completedAt }: Pick<RunAnswer, 'startedAt' | 'completedAt'>): string {
  if (completedAt === null) return '–';
  return duration((Date.parse(completedAt) - Date.parse(startedAt)) / 1000);
}
