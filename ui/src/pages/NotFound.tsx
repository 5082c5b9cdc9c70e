import { Link } from '../parts/Link.tsx';
import { Page } from '../parts/Page.tsx';

export function NotFound() {
  return (
    <Page title="No such page">
      <p>
        This address leads nowhere. <Link to="/">Go to the overview</Link>
      </p>
    </Page>
  );
}
