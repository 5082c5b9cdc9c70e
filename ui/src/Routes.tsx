import { type Place, usePlace } from './hooks/location.ts';
import { Audit } from './pages/Audit.tsx';
import { Customer } from './pages/Customer.tsx';
import { Import } from './pages/Import.tsx';
import { InvoicePage } from './pages/InvoicePage.tsx';
import { Invoices } from './pages/Invoices.tsx';
import { Leases } from './pages/Leases.tsx';
import { Messages } from './pages/Messages.tsx';
import { NotFound } from './pages/NotFound.tsx';
import { Overview } from './pages/Overview.tsx';
import { Report } from './pages/Report.tsx';
import { Runbook } from './pages/Runbook.tsx';
import { RunPage } from './pages/RunPage.tsx';
import { Runs } from './pages/Runs.tsx';
import { Search } from './pages/Search.tsx';
import { ErrorPage } from './parts/ErrorPage.tsx';
import { ImportResult } from './parts/ImportResult.tsx';
import { Link } from './parts/Link.tsx';
import { Page } from './parts/Page.tsx';

/** A part of a path; one that nobody could have encoded stays as it is, and leads nowhere. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The view that the URL names. */
export function Routes() {
  const place = usePlace();
  return (
    <ErrorPage key={place.path}>
      <View place={place} />
    </ErrorPage>
  );
}

function View({ place }: { place: Place }) {
  const [, first = '', id] = place.path.split('/').map(decoded);
  switch (first) {
    case '':
      return <Overview />;
    case 'invoices':
      return id === undefined ? <Invoices place={place} /> : <InvoicePage key={id} id={id} />;
    case 'search':
      return <Search place={place} />;
    case 'customers':
      return id === undefined ? <Search place={place} /> : <Customer key={id} id={id} />;
    case 'import':
      return id === undefined ? (
        <Import place={place} />
      ) : (
        <Page title="Import">
          <ImportResult key={id} id={id} />
          <p>
            <Link to="/import">All imports</Link>
          </p>
        </Page>
      );
    case 'runs':
      return id === undefined ? <Runs place={place} /> : <RunPage key={id} id={id} />;
    case 'leases':
      return <Leases />;
    case 'messages':
      return <Messages place={place} />;
    case 'report':
      return <Report place={place} />;
    case 'runbook':
      return <Runbook />;
    case 'audit':
      return <Audit place={place} />;
    default:
      return <NotFound />;
  }
}
