import type { AuditRecord } from '../../../src/ops/answers/reportAnswers.ts';
import { api, withQuery } from '../api/requests.ts';
import type { Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { Filters } from '../parts/Filters.tsx';
import { invoicePath, Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Pager } from '../parts/Pager.tsx';
import { type Column, Table } from '../parts/Table.tsx';
import { ExactTime } from '../parts/Time.tsx';

const columns: readonly Column<AuditRecord>[] = [
  { head: 'Time', cell: ({ at }) => <ExactTime at={at} /> },
  { head: 'Who', cell: ({ actor }) => actor },
  { head: 'What', cell: ({ action }) => action },
  { head: 'Target', cell: Target },
  { head: 'Details', cell: ({ detail }) => <span class="why">{detailText(detail)}</span> },
];

/** The view of what was changed; undefined if there is none. */
function viewOf({ action, target, detail = {} }: AuditRecord): string | undefined {
  const [first = '', second] = target.split('/');
  if (/ run$|bulk/.test(action) && second !== undefined) return `/runs/${encodeURIComponent(second)}`;
  if (action === 'begin import') return `/import/${encodeURIComponent(first)}`;
  if (action === 'import invoices' && typeof detail.importId === 'string')
    return `/import/${detail.importId}`;
  if (action.endsWith(' lock')) return '/leases';
  if (/outbox/.test(action)) return '/messages?status=all';
  return / invoice$|due date$|settle refund|note|void$/.test(action) ? invoicePath(target) : undefined;
}

function Target(record: AuditRecord) {
  const view = viewOf(record);
  return view === undefined ? <code>{record.target}</code> : <Link to={view}>{record.target}</Link>;
}

function detailText(detail: AuditRecord['detail'] = {}): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

/** Shows who did what, on a day or on some days, newest first. */
export function Audit({ place }: { place: Place }) {
  const { query } = place;
  const given = (name: string) => query.get(name) ?? undefined;
  const [from, to] = [given('from'), given('to')];
  const asked = {
    ...((from ?? to) === undefined ? { day: given('day') } : { from, to }),
    actor: given('who'),
    action: given('what'),
    target: given('target'),
    continuation: given('page'),
  };
  const look = usePolled({ name: withQuery('audit', asked), load: () => api.audit(asked) });
  return (
    <Page title="Audit">
      <Filters
        place={place}
        filters={[
          {
            label: 'Days',
            from: { name: 'from', label: 'From' },
            to: { name: 'to', label: 'To' },
            includesTo: true,
            none: 'one day',
          },
          { name: 'day', label: 'Day', kind: 'date' },
          { name: 'who', label: 'Who', kind: 'text' },
          { name: 'what', label: 'What', kind: 'text' },
          { name: 'target', label: 'Target', kind: 'text' },
        ]}
      />
      <Loaded look={look}>
        {({ records, continuation }) => (
          <>
            <Table
              caption="Audit records"
              columns={columns}
              rows={records}
              keyOf={({ id }) => id}
              empty={
                <p>Nothing was changed that matches. Without days or a target, only today is looked at.</p>
              }
            />
            <Pager place={place} continuation={continuation} shown={records.length} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
