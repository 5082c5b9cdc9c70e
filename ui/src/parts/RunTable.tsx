import type { ComponentChildren } from 'preact';
import type { RunAnswer } from '../../../src/ops/answers/runAnswers.ts';
import { countText } from '../format/amountText.ts';
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
  { head: 'Trigger', cell: ({ trigger, dryRun }) => (dryRun ? 'preview' : trigger) },
  { head: 'Status', cell: ({ status }) => <Status of={status} /> },
  { head: 'Groups', right: true, cell: ({ groups }) => groupsDone(groups) },
  { head: 'Claimed', right: true, cell: ({ counts }) => countText(claimedOf(counts)) },
  { head: 'Duration', right: true, cell: tookText },
  { head: 'By', cell: ({ lockOwner }) => lockOwner ?? '–' },
];

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
