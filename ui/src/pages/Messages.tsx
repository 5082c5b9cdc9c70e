import type { Place } from '../hooks/location.ts';
import { withFilters } from '../hooks/location.ts';
import { DeadLetters } from '../parts/DeadLetters.tsx';
import { Link } from '../parts/Link.tsx';
import { OutboxMessages } from '../parts/OutboxMessages.tsx';
import { Page } from '../parts/Page.tsx';

/** Shows the messages of the outbox, by default those still to be sent; the dead letters have a tab of their own. */
export function Messages({ place }: { place: Place }) {
  const dead = place.query.get('tab') === 'dead';
  const tabs = [
    [undefined, 'Outbox', !dead],
    ['dead', 'Dead letters and poison', dead],
  ] as const;
  return (
    <Page title={dead ? 'Dead letters' : 'Outbox'}>
      <nav class="tabs" aria-label="Kinds of messages">
        {tabs.map(([tab, name, current]) => (
          <Link
            key={name}
            class="view"
            to={withFilters({ path: '/messages', query: new URLSearchParams() }, { tab })}
            {...(current ? { 'aria-current': 'page' } : {})}
          >
            {name}
          </Link>
        ))}
      </nav>
      {dead ? <DeadLetters place={place} /> : <OutboxMessages place={place} />}
    </Page>
  );
}
