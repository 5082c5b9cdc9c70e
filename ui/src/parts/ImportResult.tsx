import { countText } from '../format/amountText.ts';
import type { SplitFile } from '../format/splitFile.ts';
import type { Progress, RefusedRow } from './importParts.ts';
import { Link } from './Link.tsx';
import { StartRunButton } from './StartRunDialog.tsx';
import { type Column, Table } from './Table.tsx';

/** Rows that are shown; a file with more of them is wrong as a whole. */
const mostShown = 500;

/** Shows the outcome of an import: rejected rows first. */
export function ImportResult({
  progress: { created, duplicates, rejected },
  file,
  done,
}: {
  progress: Progress;
  file: SplitFile;
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
            <button type="button" onClick={() => save(rejected, file)}>
              Rejected rows as a file
            </button>
          )}
        </div>
      )}
      {rejected.length > 0 && (
        <>
          <h2>Rejected rows</h2>
          <p class="quiet">
            Put them right in the file and send it again, or in the file of the rejected rows: what is stored
            already stays as it is.
          </p>
          <Table
            caption="Rejected rows"
            columns={columnsFor(file)}
            rows={rejected.slice(0, mostShown)}
            keyOf={({ number, field }) => `${number} ${field}`}
            empty={null}
          />
          {rejected.length > mostShown && (
            <p>And {countText(rejected.length - mostShown)} more: see the file of them.</p>
          )}
        </>
      )}
    </>
  );
}

function columnsFor({ type, idOf }: SplitFile): readonly Column<RefusedRow>[] {
  return [
    { head: type === 'text/csv' ? 'Row of the file' : 'Item', right: true, cell: ({ number }) => number },
    { head: 'Id', cell: ({ number }) => idOf(number) },
    { head: 'Field', cell: ({ field }) => <code>{field}</code> },
    { head: 'What is wrong', cell: ({ error }) => error },
  ];
}

function save(rejected: readonly RefusedRow[], { type, withErrors }: SplitFile): void {
  const told = rejected.map(({ number, field, error }) => ({ number, error: `${field}: ${error}` }));
  const url = URL.createObjectURL(new Blob([withErrors(told)], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = type === 'text/csv' ? 'rejected.csv' : 'rejected.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
