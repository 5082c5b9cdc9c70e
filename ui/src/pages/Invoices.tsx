import { useState } from 'preact/hooks';
import { invoiceStatuses } from '../../../src/invoice/invoiceStatus.ts';
import type { InvoiceAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import { counted, sumsText } from '../format/amountText.ts';
import { go, type Place, withFilters } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { useHasCall } from '../hooks/session.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { announce } from '../parts/Announcements.tsx';
import { BulkAllDialog } from '../parts/BulkAllDialog.tsx';
import { BulkDialog } from '../parts/BulkDialog.tsx';
import { CsvButton } from '../parts/CsvButton.tsx';
import { allOr, type Filter, Filters } from '../parts/Filters.tsx';
import { invoiceColumns } from '../parts/invoiceColumns.tsx';
import { Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Pager } from '../parts/Pager.tsx';
import { statusWord } from '../parts/Status.tsx';
import { Table } from '../parts/Table.tsx';
import { Totals } from '../parts/Totals.tsx';

const filters: readonly Filter[] = [
  { name: 'status', label: 'Status', kind: allOr(invoiceStatuses, statusWord) },
  {
    name: 'only',
    label: 'Only',
    kind: { '': 'all', refunded: 'refunded', disputed: 'disputed', waitsForRetry: 'waits for retry' },
  },
  { name: 'undecided', label: 'At the provider', kind: { '': 'all', true: 'not decided' } },
  { name: 'customer', label: 'Customer', kind: 'text' },
  { name: 'currency', label: 'Currency', kind: 'text' },
  {
    label: 'Due',
    from: { name: 'dueAfter', label: 'Due from' },
    to: { name: 'dueBefore', label: 'Due before' },
    includesTo: false,
    none: 'at any time',
  },
  { name: 'run', label: 'Run', kind: 'chip' },
  { name: 'counted', label: 'In the report', kind: 'chip' },
];

/** Filters that a bulk change does not know. */
const notInBulk = ['only', 'undecided', 'run', 'counted'];

/** The invoices that match, and what may be done with several of them. */
export function Invoices({ place }: { place: Place }) {
  const { query } = place;
  const asked = queryOf(query);
  const list = withQuery('invoices', asked);
  const look = usePolled({ name: list, load: () => api.invoices(asked), isBusy: someClaimed });
  const [selection, setSelection] = useState<Selected>({ of: list, ids: new Set() });
  const [bulk, setBulk] = useState<'retry' | 'void'>();
  const mayBulk = useHasCall('startBulk');
  const rows = look.data?.invoices ?? [];
  // A selection of another list is none.
  const ids = selection.of === list ? selection.ids : new Set<string>();
  const allMatching = ids === 'all';
  const selected = ids === 'all' ? new Set(rows.map(({ id }) => id)) : ids;
  // A change of single rows ends the selection of everything: it names the rows of this page only.
  const select = (changed: Selected['ids']) => setSelection({ of: list, ids: changed });
  const chosen = rows.filter(({ id }) => selected.has(id));
  const { continuation: _, sort = '', ...filter } = asked;
  const given = Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [name]));

  return (
    <Page
      title="Invoices"
      actions={
        <>
          <CsvButton path={withQuery('invoices.csv', filter)} name="invoices.csv" />
          <Link to="/import" class="button">
            Import
          </Link>
        </>
      }
    >
      <Filters place={place} filters={filters} />
      <Loaded look={look}>
        {({ invoices, continuation }) => (
          <>
            {selected.size > 0 && (
              <section class="selection" aria-label="Selection">
                <p>
                  {allMatching
                    ? 'Every invoice that matches is selected, on all pages. They are counted before anything changes.'
                    : `${counted(chosen.length, 'invoice')} selected: ${sumsText(chosen)}`}
                </p>
                {mayBulk &&
                  continuation !== null &&
                  asked.status !== undefined &&
                  !given.some((name) => notInBulk.includes(name)) && (
                    <button
                      type="button"
                      aria-pressed={allMatching}
                      onClick={() => select(allMatching ? new Set() : 'all')}
                    >
                      Select all that match
                    </button>
                  )}
                <ActionButton label="Retry…" why={whyNot(chosen, 'retry')} onClick={() => setBulk('retry')} />
                <ActionButton
                  label="Void…"
                  why={whyNot(chosen, 'void')}
                  danger
                  onClick={() => setBulk('void')}
                />
              </section>
            )}
            <Totals filter={filter} />
            <Table
              caption="Invoices"
              columns={invoiceColumns}
              rows={invoices}
              keyOf={({ id }) => id}
              stateOf={({ status, attempts }) => `${status} ${attempts}`}
              selection={{ selected, change: select }}
              sorting={
                // An index sorts all invoices, or those of some due dates.
                given.every((name) => name === 'dueAfter' || name === 'dueBefore')
                  ? { by: sort, change: (by) => go(withFilters(place, { sort: by, page: undefined })) }
                  : undefined
              }
              empty={<NoInvoices filtered={list !== 'invoices'} />}
            />
            <Pager place={place} continuation={continuation} shown={invoices.length} />
          </>
        )}
      </Loaded>
      {bulk !== undefined && allMatching && (
        <BulkAllDialog request={{ action: bulk, filter }} what="invoice" close={() => setBulk(undefined)} />
      )}
      {bulk !== undefined && !allMatching && (
        <BulkDialog
          action={bulk}
          invoices={chosen}
          close={() => setBulk(undefined)}
          done={(text) => {
            announce(text);
            select(new Set());
            look.reload();
          }}
        />
      )}
    </Page>
  );
}

interface Selected {
  /** The list that it is of. */
  of: string;
  /** `all`: everything that matches, on this page and the others. */
  ids: ReadonlySet<string> | 'all';
}

function queryOf(query: URLSearchParams): Record<string, string | undefined> {
  const given = (name: string) => query.get(name) ?? undefined;
  const day = (name: string) => {
    const value = given(name);
    return value === undefined ? undefined : `${value.slice(0, 10)}T00:00:00Z`;
  };
  const filter = {
    status: given('status'),
    only: given('only'),
    undecided: given('undecided'),
    run: given('run'),
    counted: given('counted'),
    customer: given('customer'),
    currency: given('currency')?.toUpperCase(),
    dueAfter: day('dueAfter'),
    dueBefore: day('dueBefore'),
  };
  const { dueAfter: _, dueBefore: __, ...others } = filter;
  const isSorted = Object.values(others).every((value) => value === undefined);
  return { ...filter, sort: isSorted ? given('sort') : undefined, continuation: given('page') };
}

function someClaimed({ invoices }: { invoices: readonly InvoiceAnswer[] }): boolean {
  return invoices.some(({ status }) => status === 'claimed' || status === 'processing');
}

const fitting: Readonly<Record<'retry' | 'void', readonly InvoiceAnswer['status'][]>> = {
  retry: ['parked', 'declined'],
  void: ['pending', 'parked', 'declined', 'processing'],
};

/** Why an action fits none of the chosen invoices; undefined if it fits some. The app decides on each. */
function whyNot(chosen: readonly InvoiceAnswer[], action: 'retry' | 'void'): string | undefined {
  return chosen.some(({ status }) => fitting[action].includes(status))
    ? undefined
    : `None of them is ${fitting[action].join(' or ')}.`;
}

function NoInvoices({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <>
      <p>No invoice matches these filters.</p>
      <button type="button" onClick={() => go('/invoices')}>
        Clear the filters
      </button>
    </>
  ) : (
    <>
      <p>No invoices yet.</p>
      <Link to="/import" class="button">
        Import some
      </Link>
    </>
  );
}
