import { useEffect } from 'preact/hooks';
import type { SearchAnswer } from '../../../src/ops/answers/invoiceAnswers.ts';
import { api } from '../api/requests.ts';
import { go, type Place } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { Cost } from '../parts/Cost.tsx';
import { invoiceColumns } from '../parts/invoiceColumns.tsx';
import { customerPath, invoicePath, Link } from '../parts/Link.tsx';
import { Loaded } from '../parts/Loaded.tsx';
import { Page } from '../parts/Page.tsx';
import { Table } from '../parts/Table.tsx';

const titles: Readonly<Record<SearchAnswer['groups'][number]['kind'], string>> = {
  invoice: 'Invoices whose id begins so',
  payment: 'Invoices whose payment id begins so',
  description: 'Invoices with such words in the description',
  amount: 'Invoices of this amount',
};

/** Results of a search, by kind. */
export function Search({ place }: { place: Place }) {
  const text = place.query.get('text')?.trim() ?? '';
  return (
    <Page title="Search">
      {text === '' ? (
        <p>
          Type the beginning of an invoice, a customer, a payment id or of words of the description, or an
          amount like 310.84 or 310.84 BRL.
        </p>
      ) : (
        <Finding key={text} text={text} />
      )}
    </Page>
  );
}

function Finding({ text }: { text: string }) {
  const look = usePolled({ name: `search ${text}`, load: () => api.search(text), once: true });
  return <Loaded look={look}>{(found) => <Groups found={found} text={text} />}</Loaded>;
}

function Groups({ found, text }: { found: SearchAnswer; text: string }) {
  const { customers, hasMoreCustomers } = found;
  const groups = found.groups.filter(({ invoices }) => invoices.length > 0);
  const exact = groups[0]?.invoices.find(({ id }) => id.toLowerCase() === text.toLowerCase())?.id;
  // Somebody who gives a whole id wants that invoice.
  useEffect(() => {
    if (exact !== undefined) go(invoicePath(exact), { replace: true });
  }, [exact]);
  if (groups.length + customers.length === 0) {
    return (
      <div class="empty">
        <p>Nothing begins with “{text}”.</p>
        <p class="quiet">
          Found are the beginnings of invoice ids, customers and of the first eight words of a description, in
          capital or small letters; of payment ids as the provider writes them; and exact amounts, like 310.84
          or 310.84 BRL. What is in the archive is found by its whole id: <Whole text={text} />.
        </p>
      </div>
    );
  }
  return (
    <>
      {customers.length > 0 && (
        <section aria-label="Customers">
          <h2>Customers</h2>
          <ul class="found">
            {customers.map((customer) => (
              <li key={customer}>
                <Link to={customerPath(customer)}>{customer}</Link>
              </li>
            ))}
          </ul>
          {hasMoreCustomers && <More />}
        </section>
      )}
      {groups.map(({ kind, invoices, hasMore }) => (
        <section key={kind} aria-label={titles[kind]}>
          <h2>{titles[kind]}</h2>
          <Table
            caption={titles[kind]}
            columns={invoiceColumns}
            rows={invoices}
            keyOf={({ id }) => id}
            empty={null}
          />
          {hasMore && <More />}
        </section>
      ))}
      <Cost of={found} />
    </>
  );
}

function More() {
  return <p class="quiet">There are more: type more of it.</p>;
}

function Whole({ text }: { text: string }) {
  return <Link to={invoicePath(text)}>look for {text}</Link>;
}
