import { noteEntry } from '../../../src/invoice/timeline.ts';
import type { TimelineEntry } from '../../../src/ops/answers/invoiceAnswers.ts';
import { timelineFacts } from '../format/timelineFacts.ts';
import { Time } from './Time.tsx';

/** The life of an invoice, latest first. */
export function Timeline({ entries, currency }: { entries: readonly TimelineEntry[]; currency: string }) {
  return (
    <ol class="timeline" reversed>
      {entries.toReversed().map((entry, index) => (
        <li key={`${entry.at} ${entry.what} ${entries.length - index}`} class={toneOf(entry.what)}>
          <p>
            <strong>{entry.what}</strong> <Time at={entry.at} /> <span class="quiet">by {entry.by}</span>
          </p>
          {entry.what === noteEntry && typeof entry.text === 'string' && <p>{entry.text}</p>}
          <ul class="facts-line">
            {timelineFacts(entry, currency).map(({ label, value }) => (
              <li key={label}>
                {label} <code>{value}</code>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

function toneOf(what: string): string {
  if (what === 'paid') return 'good';
  if (/^(parked|declined|voided)/.test(what)) return 'bad';
  // A refund that was made, or a dispute: the facts say which.
  if (what === 'reversed') return 'warn';
  return what.startsWith('retry') ? 'warn' : 'calm';
}
