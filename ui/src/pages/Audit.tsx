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

const columns: readonly Column<AuditRecord>[] = [
  { head: 'Time (UTC)', cell: ({ at }) => <time dateTime={at}>{at.slice(11, 19)}</time> },
  { head: 'Who', cell: ({ actor }) => actor },
  { head: 'What', cell: ({ action }) => action },
  { head: 'Target', cell: Target },
  { head: 'Details', cell: ({ detail }) => <span class="why">{detailText(detail)}</span> },
];

function Target({ action, target }: AuditRecord) {
  if (/ invoice$|due date$/.test(action)) return <Link to={invoicePath(target)}>{target}</Link>;
  const run = action.endsWith(' run') ? target.split('/')[1] : undefined;
  return run === undefined ? <code>{target}</code> : <Link to={`/runs/${run}`}>{target}</Link>;
}

function detailText(detail: AuditRecord['detail'] = {}): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

/** Shows who did what on a day, newest first. */
export function Audit({ place }: { place: Place }) {
  const { query } = place;
  const asked = { day: query.get('day') ?? undefined, continuation: query.get('page') ?? undefined };
  const look = usePolled({ name: withQuery('audit', asked), load: () => api.audit(asked) });
  const has = (text: string, name: string) =>
    text.toLowerCase().includes((query.get(name) ?? '').toLowerCase());
  return (
    <Page title="Audit">
      <Filters
        place={place}
        filters={[
          { name: 'day', label: 'Day', kind: 'date', preset: new Date().toISOString().slice(0, 10) },
          { name: 'who', label: 'Who', kind: 'text' },
          { name: 'what', label: 'What', kind: 'text' },
          { name: 'target', label: 'Target', kind: 'text' },
        ]}
      />
      <Loaded look={look}>
        {({ records, continuation }) => {
          const shown = records.filter(
            ({ actor, action, target }) => has(actor, 'who') && has(action, 'what') && has(target, 'target'),
          );
          return (
            <>
              <Table
                caption="Audit records"
                columns={columns}
                rows={shown}
                keyOf={({ id }) => id}
                empty={
                  <p>
                    {records.length === 0
                      ? 'Nobody changed anything on this day.'
                      : 'None of this page matches. Change the filters, or look at the next page.'}
                  </p>
                }
              />
              <Pager place={place} continuation={continuation} shown={shown.length} />
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
