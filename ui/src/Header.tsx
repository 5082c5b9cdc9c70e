import { useContext } from 'preact/hooks';
import { forgetKey, readKey } from './api/key.ts';
import { go, usePlace } from './hooks/location.ts';
import { Session } from './hooks/session.ts';
import { invoicePath, Link } from './parts/Link.tsx';
import { tellSignedOut } from './signedOut.ts';

const views = [
  ['/', 'Overview'],
  ['/invoices', 'Invoices'],
  ['/import', 'Import'],
  ['/runs', 'Runs'],
  ['/leases', 'Leases'],
  ['/messages', 'Messages'],
  ['/report', 'Report'],
  ['/audit', 'Audit'],
  ['/runbook', 'Runbook'],
] as const;

/** Where this is, the way to every view, and the search by id. */
export function Header({ live, setLive }: { live: boolean; setLive: (live: boolean) => void }) {
  const { environment, actor, version } = useContext(Session);
  const { path } = usePlace();
  return (
    <header class="top">
      <p class="brand">
        <Link class="home" to="/">
          payonce
        </Link>{' '}
        <span class="environment">{environment}</span>
      </p>
      <nav aria-label="Views">
        <ul>
          {views.map(([to, name]) => (
            <li key={to}>
              <Link class="view" to={to} {...(isIn(path, to) ? { 'aria-current': 'page' } : {})}>
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <search>
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            const id = new FormData(event.currentTarget).get('id');
            if (typeof id === 'string' && id.trim() !== '') go(invoicePath(id.trim()));
          }}
        >
          <input
            type="search"
            name="id"
            aria-label="Invoice id"
            placeholder="Invoice id"
            autocomplete="off"
          />
          <button type="submit">Find</button>
        </form>
      </search>
      <p class="who">
        <button type="button" aria-pressed={live} onClick={() => setLive(!live)} class="live">
          {live ? 'Updates: on' : 'Updates: off'}
        </button>
        <span title={`payonce ${version}`}>{actor}</span>
        {readKey() !== undefined && (
          <button
            type="button"
            onClick={() => {
              forgetKey();
              tellSignedOut();
            }}
          >
            Forget key
          </button>
        )}
      </p>
    </header>
  );
}

function isIn(path: string, view: string): boolean {
  return view === '/' ? path === '/' : path === view || path.startsWith(`${view}/`);
}
