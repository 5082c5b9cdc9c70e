import { csvLine } from '../../../src/platform/csv.ts';
import { countText } from '../format/amountText.ts';
import type { Progress } from './importParts.ts';
import { Link } from './Link.tsx';
import { StartRunButton } from './StartRunDialog.tsx';
import { type Column, Table } from './Table.tsx';

type Rejected = Progress['rejected'][number];

/** Rows that are shown; a file with more of them is wrong as a whole. */
const mostShown = 500;

/** What has come of an import: rejected rows first. */
export function ImportResult({
  progress: { created, duplicates, rejected },
  type,
  done,
}: {
  progress: Progress;
  type: 'text/csv' | 'application/json';
  done: boolean;
}) {
  return (
    <>
      <ul class="figures" aria-label="Rows by what became of them">
        <li class={`figure ${rejected.length === 0 ? 'calm' : 'bad'}`}>
          <span class="figure-body">
            <span class="name">Rejected</span>
            <span class="count">{countText(rejected.length)}</span>
          </span>
        </li>
        <li class="figure good">
          <span class="figure-body">
            <span class="name">Stored</span>
            <span class="count">{countText(created)}</span>
          </span>
        </li>
        <li class="figure calm">
          <span class="figure-body">
            <span class="name">Known already</span>
            <span class="count">{countText(duplicates)}</span>
          </span>
        </li>
      </ul>
      {done && (
        <div class="actions">
          <Link to="/" class="button">
            Watch them being paid
          </Link>
          <StartRunButton />
          {rejected.length > 0 && (
            <button type="button" onClick={() => save(rejected, type)}>
              Rejected rows as CSV
            </button>
          )}
        </div>
      )}
      {rejected.length > 0 && (
        <>
          <h2>Rejected rows</h2>
          <p class="quiet">
            Put them right in the file and send it again: what is stored already stays as it is.
          </p>
          <Table
            caption="Rejected rows"
            columns={columnsFor(type)}
            rows={rejected.slice(0, mostShown)}
            keyOf={({ index, field }) => `${index} ${field}`}
            empty={null}
          />
          {rejected.length > mostShown && (
            <p>And {countText(rejected.length - mostShown)} more: see the CSV.</p>
          )}
        </>
      )}
    </>
  );
}

function columnsFor(type: 'text/csv' | 'application/json'): readonly Column<Rejected>[] {
  return [
    {
      head: type === 'text/csv' ? 'Row of the file' : 'Item',
      right: true,
      cell: (row) => rowNumber(row, type),
    },
    { head: 'Field', cell: ({ field }) => <code>{field}</code> },
    { head: 'What is wrong', cell: ({ error }) => error },
  ];
}

/** As a spreadsheet counts: the header is row 1. */
function rowNumber({ index }: Rejected, type: 'text/csv' | 'application/json'): number {
  return type === 'text/csv' ? index + 2 : index + 1;
}

function save(rejected: readonly Rejected[], type: 'text/csv' | 'application/json'): void {
  const lines = [
    csvLine(['row', 'field', 'error']),
    ...rejected.map((row) => csvLine([rowNumber(row, type), row.field, row.error])),
  ];
  const url = URL.createObjectURL(new Blob(lines, { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'rejected.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
