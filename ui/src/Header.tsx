import { useContext, useEffect, useRef } from 'preact/hooks';
import { forgetKey, readKey } from './api/key.ts';
import { withQuery } from './api/requests.ts';
import { go, usePlace } from './hooks/location.ts';
import { Session } from './hooks/session.ts';
import { Link } from './parts/Link.tsx';
import { tellSignedOut } from './signedOut.ts';

/** Views by those who need them: who pays and answers customers, and who keeps the app running. */
const views = [
  [
    'Payments',
    [
      ['/', 'Overview'],
      ['/invoices', 'Invoices'],
      ['/import', 'Import'],
      ['/report', 'Report'],
    ],
  ],
  [
    'Operations',
    [
      ['/runs', 'Runs'],
      ['/leases', 'Leases'],
      ['/messages', 'Messages'],
      ['/audit', 'Audit'],
      ['/runbook', 'Runbook'],
    ],
  ],
] as const;

/** Where this is, the way to every view, and the search. */
export function Header({ live, setLive }: { live: boolean; setLive: (live: boolean) => void }) {
  const { environment, actor, version } = useContext(Session);
  const { path } = usePlace();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    function toBox(event: KeyboardEvent): void {
      const isCommand = (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k';
      const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea');
      const isSlash = event.key === '/' && !isTyping && !event.metaKey && !event.ctrlKey && !event.altKey;
      // A dialog has the page behind it closed off.
      if ((!isCommand && !isSlash) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      box.current?.select();
    }
    addEventListener('keydown', toBox);
    return () => removeEventListener('keydown', toBox);
  }, []);
  return (
    <header class="top">
      <p class="brand">
        <Link class="home" to="/">
          payonce
        </Link>{' '}
        <span class="environment">{environment}</span>
      </p>
      <nav aria-label="Views">
        {views.map(([group, some]) => (
          <ul key={group} aria-label={group} title={group}>
            {some.map(([to, name]) => (
              <li key={to}>
                <Link class="view" to={to} {...(isIn(path, to) ? { 'aria-current': 'page' } : {})}>
                  {name}
                </Link>
              </li>
            ))}
          </ul>
        ))}
      </nav>
      <search>
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault();
            const text = new FormData(event.currentTarget).get('text');
            if (typeof text === 'string' && text.trim() !== '')
              go(withQuery('/search', { text: text.trim() }));
          }}
        >
          <input
            ref={box}
            type="search"
            name="text"
            aria-label="Search"
            aria-keyshortcuts="/ Meta+K Control+K"
            placeholder="Search (/)"
            title="Invoice, customer, payment, word of a description, or amount: / or ⌘K"
            maxLength={100}
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
