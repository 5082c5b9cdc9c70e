import type { ComponentChildren } from 'preact';
import { useChanged } from '../hooks/changed.ts';
import { Term } from './Term.tsx';

export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers and amounts. */
  right?: true;
  /** Name of its order, if the list can have it. */
  sort?: string;
}

/** The order of a list: the name of a column's, with a minus if the latest come first. */
export interface Sorting {
  by: string;
  change: (by: string | undefined) => void;
}

interface TableProps<Row> {
  /** Name of what the table lists, for screen readers only. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Returns a text that differs once the row has changed. Absent: changes are not shown. */
  stateOf?: (row: Row) => string;
  /** The rows can be selected. */
  selection?: Selection;
  /** The list can be sorted. */
  sorting?: Sorting | undefined;
  /** Shown instead of rows. */
  empty: ComponentChildren;
}

export interface Selection {
  selected: ReadonlySet<string>;
  change: (selected: ReadonlySet<string>) => void;
}

/** A table, which is a list of cards on a phone: roles are spelled out because CSS would take them away there. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, selection, sorting, empty } = props;
  if (rows.length === 0) return <div class="empty">{empty}</div>;
  return (
    <table role="table">
      <caption class="hidden">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {selection !== undefined && (
            <th scope="col" role="columnheader" class="pick">
              <SelectAll ids={rows.map(keyOf)} selection={selection} />
            </th>
          )}
          {columns.map(({ head, right, sort }) => (
            <th
              key={head}
              scope="col"
              role="columnheader"
              class={right === true ? 'right' : ''}
              aria-sort={ariaSort(sort, sorting)}
            >
              {sort === undefined || sorting === undefined ? (
                <Term>{head}</Term>
              ) : (
                <Sort by={sort} head={head} {...{ sorting }} />
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <TableRow key={keyOf(row)} row={row} {...props} />
        ))}
      </tbody>
    </table>
  );
}

function ariaSort(sort: string | undefined, sorting: Sorting | undefined) {
  if (sort === undefined || sorting === undefined) return undefined;
  if (sorting.by === sort) return 'ascending';
  return sorting.by === `-${sort}` ? 'descending' : 'none';
}

/** The head of a column that sorts the list: earliest first, latest first, and as it was. */
function Sort({ by, head, sorting }: { by: string; head: string; sorting: Sorting }) {
  const next = sorting.by === by ? `-${by}` : sorting.by === `-${by}` ? undefined : by;
  const arrow = sorting.by === by ? ' ↑' : sorting.by === `-${by}` ? ' ↓' : '';
  return (
    <button type="button" class="sort" onClick={() => sorting.change(next)}>
      {head}
      {arrow}
    </button>
  );
}

function TableRow<Row>({ row, columns, keyOf, stateOf, selection }: TableProps<Row> & { row: Row }) {
  const changed = useChanged(stateOf?.(row) ?? '');
  const id = keyOf(row);
  return (
    <tr role="row" class={changed ? 'changed' : ''}>
      {selection !== undefined && (
        <td role="cell" class="pick">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={selection.selected.has(id)}
            onChange={(event) => {
              const next = new Set(selection.selected);
              if (event.currentTarget.checked) next.add(id);
              else next.delete(id);
              selection.change(next);
            }}
          />
        </td>
      )}
      {columns.map(({ head, cell, right }) => (
        <td key={head} role="cell" data-head={head} class={right === true ? 'right' : ''}>
          <span class="cell">{cell(row)}</span>
        </td>
      ))}
    </tr>
  );
}

function SelectAll({ ids, selection }: { ids: readonly string[]; selection: Selection }) {
  const all = ids.every((id) => selection.selected.has(id));
  const some = ids.some((id) => selection.selected.has(id));
  return (
    <input
      type="checkbox"
      aria-label="Select all on this page"
      checked={all}
      ref={(box) => {
        if (box !== null) box.indeterminate = some && !all;
      }}
      onChange={() => selection.change(all ? new Set() : new Set(ids))}
    />
  );
}
