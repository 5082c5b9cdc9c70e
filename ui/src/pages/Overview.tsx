import { useContext, useState } from 'preact/hooks';
import type { OverviewAnswer } from '../../../src/ops/answers/overviewAnswers.ts';
import { api } from '../api/requests.ts';
import { countText, sumsText } from '../format/amountText.ts';
import { duration } from '../format/relativeTime.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { AttentionList } from '../parts/AttentionList.tsx';
import { Fact } from '../parts/Fact.tsx';
import { Figure } from '../parts/Figure.tsx';
import { Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Money } from '../parts/Money.tsx';
import { Page } from '../parts/Page.tsx';
import { PaidChart } from '../parts/PaidChart.tsx';
import { PauseDialog } from '../parts/PauseDialog.tsx';
import { RunTable } from '../parts/RunTable.tsx';
import { StartRunButton } from '../parts/StartRunDialog.tsx';

/** Is everything being paid? What needs a person comes first. */
export function Overview() {
  const look = usePolled({ name: 'overview', load: api.overview, isBusy });
  const { pause, reload } = useContext(State);
  const [pausing, setPausing] = useState(false);
  const mayPause = useHasCall('pausePayments');
  return (
    <Page
      title="Overview"
      actions={
        <>
          {mayPause && pause === null && (
            <ActionButton label="Pause…" danger onClick={() => setPausing(true)} />
          )}
          <StartRunButton />
        </>
      }
    >
      <Loaded look={look}>
        {(overview) => (
          <>
            <AttentionList attention={overview.attention} isFresh={look.error === undefined} />
            <Money atRisk={overview.openDisputes} />
            <StateCounts of={overview} />
            <div class="columns">
              <PaidChart days={overview.paidPerDay} />
              <Standing of={overview} />
            </div>
            <h2>Recent runs</h2>
            <RunTable
              runs={overview.runs}
              caption="Recent runs"
              empty={<p>No run has had anything to do yet.</p>}
            />
          </>
        )}
      </Loaded>
      {pausing && <PauseDialog close={() => setPausing(false)} done={reload} />}
    </Page>
  );
}

function isBusy({ backlog, invoices, outbox }: OverviewAnswer): boolean {
  return backlog.waiting + backlog.claimed + invoices.claimed + outbox.pending > 0;
}

function StateCounts({ of: { invoices, backlog, refunded } }: { of: OverviewAnswer }) {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const none = Object.values(invoices).every((count) => count === 0);
  if (none) {
    return (
      <div class="empty">
        <p>No invoices yet.</p>
        <Link to="/import" class="button">
          Import some
        </Link>
      </div>
    );
  }
  return (
    <ul class="figures" aria-label="Invoices by state">
      <Figure
        name="Due"
        count={backlog.waiting}
        to={`/invoices?status=pending&dueBefore=${tomorrow}`}
        note="not claimed yet"
      />
      <Figure name="Being charged" count={invoices.claimed} to="/invoices?status=claimed" />
      <Figure name="Processing" count={invoices.processing} to="/invoices?status=processing" />
      <Figure
        name="Paid"
        count={invoices.paid}
        to="/invoices?status=paid"
        tone="good"
        {...(refunded.length === 0 ? {} : { note: `${sumsText(refunded)} refunded` })}
      />
      <Figure name="Declined" count={invoices.declined} to="/invoices?status=declined" tone="warn" />
      <Figure name="Needs a decision" count={invoices.parked} to="/invoices?status=parked" tone="bad" />
    </ul>
  );
}

function Standing({ of: overview }: { of: OverviewAnswer }) {
  const { pace, backlog, outbox, leases, parkedReasons, invoices } = overview;
  const { charges } = pace;
  return (
    <dl class="standing">
      <Fact name="Allowance">
        {charges === null
          ? 'nothing charged yet'
          : `${charges.usedPerSecond} of ${charges.allowedPerSecond} calls a second`}
        {charges !== null &&
          charges.refusedShare > 0 &&
          `, ${Math.round(charges.refusedShare * 100)} % refused`}
      </Fact>
      <Fact name="Backlog">{backlogText(backlog, overview.paused !== null)}</Fact>
      <Fact name="Waiting for later">
        {countText(Math.max(0, invoices.pending - backlog.waiting))} due later or waiting for a retry
      </Fact>
      <Fact name="Outbox">
        <Link to="/messages">
          {outbox.pending === 0
            ? 'all sent'
            : `${countText(outbox.pending)} to send, oldest ${duration(outbox.oldestPendingSeconds)}`}
        </Link>
      </Fact>
      <Fact name="Leases">
        <Link to="/leases">
          {leases === null ? 'the store cannot list them' : `${leases.held} of ${leases.known} held`}
        </Link>
      </Fact>
      {parkedReasons.length > 0 && (
        <Fact name="Parked because">
          <ul class="reasons">
            {parkedReasons.map(({ reason, count }) => (
              <li key={reason}>
                <strong>{countText(count)}</strong> {reason}
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  );
}

function backlogText(
  { waiting, claimed, estimatedSeconds, oldestSeconds }: OverviewAnswer['backlog'],
  isPaused: boolean,
): string {
  if (waiting + claimed === 0) return 'everything due is paid';
  const done = isPaused
    ? 'payments are paused'
    : estimatedSeconds === null
      ? 'nothing is being paid'
      : `done in about ${duration(estimatedSeconds)}`;
  return waiting === 0 ? done : `${done}, the first has waited ${duration(oldestSeconds)}`;
}
