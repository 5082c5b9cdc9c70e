import { useContext, useState } from 'preact/hooks';
import type { OverviewAnswer } from '../../../src/ops/answers/overviewAnswers.ts';
import { counted } from '../format/amountText.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from './ActionButton.tsx';
import { BulkAllDialog } from './BulkAllDialog.tsx';
import { Link } from './Link.tsx';
import { StartRunButton } from './StartRunDialog.tsx';
import { Time } from './Time.tsx';

type Item = OverviewAnswer['attention'][number];

/** A run, or a redrive of all messages from there. */
type Fix = 'run' | 'outbox' | 'dead-letters';

interface Told {
  text: (count: number) => string;
  review: readonly [to: string, label: string];
  /** The entry of the runbook. */
  runbook: string;
  fix?: { label: string; dialog: Fix };
}

const told: Readonly<Record<Item['code'], Told>> = {
  'nothing-paid': {
    text: (count) => `${counted(count, 'invoice is', 'invoices are')} due and nothing is being paid`,
    review: ['/runs', 'Review runs'],
    runbook: 'alerts-due-unpaid',
    fix: { label: 'Start run…', dialog: 'run' },
  },
  disputes: {
    text: (count) =>
      `${counted(count, 'dispute waits', 'disputes wait')} for an answer at the payment provider`,
    review: ['/invoices?only=disputed', 'Review invoices'],
    runbook: 'alerts-payment-disputed',
  },
  'refunds-overdue': {
    text: (count) =>
      `${counted(count, 'refund is', 'refunds are')} not made, or somebody may have made it by hand`,
    review: ['/invoices?status=paid&undecided=true', 'Review invoices'],
    runbook: 'alerts-refund-overdue',
  },
  'dead-letters': {
    text: (count) => `${counted(count, 'dead letter', 'dead letters')}`,
    review: ['/messages?tab=dead', 'Review messages'],
    runbook: 'alerts-dead-letters',
    fix: { label: 'Redrive…', dialog: 'dead-letters' },
  },
  'outbox-parked': {
    text: (count) =>
      `${counted(count, 'message of the outbox was', 'messages of the outbox were')} refused by its queue`,
    review: ['/messages?status=parked', 'Review outbox'],
    runbook: 'messages-of-the-outbox-parked',
    fix: { label: 'Redrive…', dialog: 'outbox' },
  },
  'invoices-parked': {
    text: (count) => `${counted(count, 'invoice is', 'invoices are')} parked: a person has to look`,
    review: ['/invoices?status=parked', 'Review invoices'],
    runbook: 'invoices-parked',
  },
  'invoices-declined': {
    text: (count) => `${counted(count, 'invoice was', 'invoices were')} declined for good`,
    review: ['/invoices?status=declined', 'Review invoices'],
    runbook: 'invoices-declined',
  },
  'stale-claims': {
    text: (count) =>
      `${counted(count, 'claim gives', 'claims give')} no sign of life; the next run takes over`,
    review: ['/invoices?status=claimed', 'Review invoices'],
    runbook: 'invoices-claimed',
    fix: { label: 'Start run…', dialog: 'run' },
  },
};

/** Lists what needs a person, the most urgent first, each with what fixes it; one quiet line on a good day. */
export function AttentionList({ attention, isFresh }: { attention: readonly Item[]; isFresh: boolean }) {
  const { pause, away } = useContext(State);
  const [open, setOpen] = useState<Fix>();
  const close = () => setOpen(undefined);
  if (attention.length === 0) {
    const isCalm = isFresh && away === undefined && pause === null;
    return isCalm ? <p class="calm-day">Nothing needs you.</p> : null;
  }
  return (
    <>
      <ul class="attention" aria-label="Needs you">
        {attention.map(({ code, count, since }) => {
          const { text, review, fix, runbook } = told[code];
          return (
            <li key={code}>
              <p>
                {text(count)}
                {since !== null && (
                  <>
                    , since <Time at={since} />
                  </>
                )}
              </p>
              <div class="actions">
                <Link to={`/runbook#${runbook}`}>What to do</Link>
                <Link to={review[0]} class="button">
                  {review[1]}
                </Link>
                {fix?.dialog === 'run' && <StartRunButton />}
                {fix !== undefined && fix.dialog !== 'run' && (
                  <ActionButton label={fix.label} onClick={() => setOpen(fix.dialog)} />
                )}
              </div>
            </li>
          );
        })}
      </ul>
      {(open === 'outbox' || open === 'dead-letters') && (
        <BulkAllDialog request={{ action: 'redrive', filter: { from: open } }} what="message" close={close} />
      )}
    </>
  );
}
