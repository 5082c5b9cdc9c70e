import { saveAs } from '../api/call.ts';
import { countText } from '../format/amountText.ts';
import { csvLineOf } from '../format/splitFile.ts';
import { invoicePath, Link } from './Link.tsx';
import { type Column, Table } from './Table.tsx';

/** Something that was to be changed, and why it was not. */
export interface NotChanged {
  id: string;
  why: string;
}

const columns: readonly Column<NotChanged>[] = [
  { head: 'Invoice', cell: ({ id }) => <Link to={invoicePath(id)}>{id}</Link> },
  { head: 'Why not', cell: ({ why }) => <span class="why">{why}</span> },
];

/** Rows that are shown; the file has them all. */
const mostShown = 100;

/** Objects that were to be changed and were not, with a file of them. */
export function Refused({ refused }: { refused: readonly NotChanged[] }) {
  return (
    <>
      <Table
        caption="Not changed"
        columns={columns}
        rows={refused.slice(0, mostShown)}
        keyOf={({ id }) => id}
        empty={null}
      />
      <p class="actions">
        <button type="button" onClick={() => save(refused)}>
          {countText(refused.length)} as CSV
        </button>
      </p>
    </>
  );
}

function save(refused: readonly NotChanged[]): void {
  const lines = refused.map(({ id, why }) => csvLineOf([id, why], ','));
  saveAs(
    new Blob(['\uFEFF', csvLineOf(['id', 'why'], ','), ...lines], { type: 'text/csv' }),
    'not-changed.csv',
  );
}
