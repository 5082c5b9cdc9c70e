import type { ImportViewAnswer, RefusedRow } from '../../../src/ops/answers/importAnswers.ts';
import { saveAs } from '../api/call.ts';
import { allOf, api } from '../api/requests.ts';
import { countText, sumsText } from '../format/amountText.ts';
import { idIn, refusedFile } from '../format/refusedFile.ts';
import { usePolled } from '../hooks/polled.ts';
import { announce } from './Announcements.tsx';
import { failureText } from './Failure.tsx';
import { Link } from './Link.tsx';
import { Loaded } from './Loaded.tsx';
import { StartRunButton } from './StartRunDialog.tsx';
import { Status } from './Status.tsx';
import { type Column, Table } from './Table.tsx';
import { Time } from './Time.tsx';

interface Found {
  view: ImportViewAnswer;
  /** The first of the refused rows. */
  refused: readonly RefusedRow[];
}

async function read(id: string): Promise<Found> {
  const [view, { rejected }] = await Promise.all([api.import(id), api.rejected(id, {})]);
  return { view, refused: rejected };
}

/** An import as it is recorded: what became of its rows, refused ones first. */
export function ImportResult({ id }: { id: string }) {
  const look = usePolled({
    name: `import ${id}`,
    load: () => read(id),
    isBusy: ({ view }) => view.status === 'running',
  });
  return <Loaded look={look}>{(found) => <Details {...found} />}</Loaded>;
}

function Details({ view, refused }: Found) {
  const { fileName, rows, status, by, startedAt, created, duplicates, rejected, sums } = view;
  return (
    <>
      <p class="story">
        <Status of={status} /> <strong>{fileName ?? 'Rows without a file'}</strong>
        {rows !== null && `, ${countText(rows)} rows`}, by {by}, <Time at={startedAt} />
        {status !== 'completed' && `. ${meaning[status]}`}
        {sums.length > 0 && `. Stored: ${sumsText(sums)}`}
      </p>
      <ul class="figures" aria-label="Rows by what became of them">
        <Count name="Rejected" count={rejected} tone={rejected === 0 ? 'calm' : 'bad'} />
        <Count name="Stored" count={created} tone="good" />
        <Count name="Known already" count={duplicates} tone="calm" />
      </ul>
      <div class="actions">
        <Link to="/" class="button">
          Watch them being paid
        </Link>
        <StartRunButton />
        {rejected > 0 && (
          <button type="button" onClick={() => void save(view)}>
            Rejected rows as a file
          </button>
        )}
      </div>
      {refused.length > 0 && (
        <>
          <h2>Rejected rows</h2>
          <p class="quiet">
            Put them right in the file and send it again, or in the file of the rejected rows: what is stored
            already stays as it is.
          </p>
          <Table
            caption="Rejected rows"
            columns={columnsFor(view)}
            rows={refused}
            keyOf={({ index, field }) => `${index} ${field}`}
            empty={null}
          />
          {rejected > refused.length && (
            <p>And {countText(rejected - refused.length)} more: see the file of them.</p>
          )}
        </>
      )}
    </>
  );
}

const meaning: Readonly<Record<Exclude<ImportViewAnswer['status'], 'completed'>, string>> = {
  running: 'Its rows are still coming.',
  stopped: 'The rest of it could not be read.',
  interrupted: 'No more rows came. Choose the file again: it goes on with the rest.',
};

function Count({ name, count, tone }: { name: string; count: number; tone: string }) {
  return (
    <li class={`figure ${tone}`}>
      <span class="figure-body">
        <span class="name">{name}</span>
        <span class="count">{countText(count)}</span>
      </span>
    </li>
  );
}

function columnsFor(view: ImportViewAnswer): readonly Column<RefusedRow>[] {
  // A body that was sent by itself has places from 0.
  const head = view.fileName === null ? 'Place' : view.columns.length > 0 ? 'Row of the file' : 'Item';
  return [
    { head, right: true, cell: ({ index }) => index },
    { head: 'Id', cell: (row) => idIn(view, row) },
    { head: 'Field', cell: ({ field }) => <code>{field}</code> },
    { head: 'What is wrong', cell: ({ error }) => <span class="why">{error}</span> },
  ];
}

/** Saves all refused rows as a file. */
async function save(view: ImportViewAnswer): Promise<void> {
  let all: RefusedRow[];
  try {
    all = await allOf(
      (query) => api.rejected(view.importId, query),
      ({ rejected }) => rejected,
    );
  } catch (error) {
    announce(failureText(error));
    return;
  }
  const isCsv = view.columns.length > 0;
  const content = new Blob([refusedFile(view, all)], { type: isCsv ? 'text/csv' : 'application/json' });
  saveAs(content, isCsv ? 'rejected.csv' : 'rejected.json');
}
