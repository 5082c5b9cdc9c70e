import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Breakable, DemoAction, DemoState } from '../../local/demo/demoState.ts';
import { countText } from '../src/format/amountText.ts';
import { Status } from '../src/parts/Status.tsx';
import { useDemo } from './demoCalls.ts';
import { Story } from './Story.tsx';

interface Props {
  state: DemoState;
  act: (wanted: DemoAction) => void;
  /** Shows what happened to an invoice. */
  open: (invoice: string) => void;
}

export function DemoPage() {
  const { state, away, act } = useDemo();
  const [invoice, open] = useState<string>();
  if (state === undefined) return <main>{away ? 'The demo does not answer.' : 'Starting …'}</main>;
  const props = { state, act, open };
  return (
    <>
      <Top state={state} away={away} />
      <main>
        {state.twice.length > 0 && <ChargedTwice {...props} />}
        <Hosts {...props} />
        <div class="columns">
          <div>
            <Faults {...props} />
          </div>
          <div>
            <Guards {...props} />
            <Invoices {...props} />
            <Ledger {...props} />
            <Events {...props} />
          </div>
        </div>
      </main>
      {invoice !== undefined && <Story key={invoice} invoice={invoice} close={() => open(undefined)} />}
    </>
  );
}

/** The figures that never leave the screen. */
function Top({ state, away }: { state: DemoState; away: boolean }) {
  const { figures, queue, ready, hosts } = state;
  const up = hosts.find(({ state: how }) => how === 'up') ?? hosts[0];
  return (
    <header class="top demo-top">
      <h1>Break it yourself</h1>
      <dl>
        {Object.entries({ ...figures, twice: undefined }).map(
          ([name, count]) =>
            count !== undefined && <Count key={name} name={name} count={count} tone="calm" />,
        )}
        <Count name="charged twice" count={figures.twice} tone={figures.twice === 0 ? 'good' : 'bad'} />
      </dl>
      <p class="quiet">
        Queue: {queue.active} waiting, {queue.locked} locked, {queue.scheduled} scheduled.{' '}
        <a href={`${up?.address}/api/ops/ui`} target="_blank" rel="noreferrer">
          Dashboard
        </a>
      </p>
      <output class="wrong">{away ? 'The demo does not answer.' : ready ? '' : 'Resetting …'}</output>
    </header>
  );
}

function Count({ name, count, tone }: { name: string; count: number; tone: string }) {
  return (
    <div class={`figure ${tone}`}>
      <dt class="name">{name}</dt>
      <dd class="count">{countText(count)}</dd>
    </div>
  );
}

function ChargedTwice({ state, open }: Props) {
  return (
    <section class="failure demo-twice" aria-labelledby="twice">
      <h2 id="twice" class="wrong">
        Charged twice
      </h2>
      {state.twice.map(({ invoice, charges }) => (
        <ul key={invoice}>
          {charges.map(({ key, at }) => (
            <li key={key}>
              <InvoiceButton id={invoice} open={open} /> {timeText(at)} under the key <code>{key}</code>
            </li>
          ))}
        </ul>
      ))}
    </section>
  );
}

function Hosts({ state, act }: Props) {
  return (
    <section>
      <h2>Three hosts race for the work</h2>
      <ul class="figures demo-hosts">
        {state.hosts.map(({ name, state: how, version, clockBack, leases, calls, latest }, host) => (
          <li key={name} class="figure figure-body">
            <h3>
              {name} <span class={`status ${how === 'up' ? 'good' : 'warn'}`}>{how}</span>
              {clockBack && <span class="status warn">two hours behind</span>}
            </h3>
            <p>
              Version {version}, {leases} of 4 groups, {calls} calls in flight
            </p>
            <p class="demo-latest quiet">{latest}</p>
            <div class="actions">
              {state.hostFaults.map(({ id, title }) => (
                <button
                  key={id}
                  type="button"
                  aria-label={`${title}: ${name}`}
                  aria-pressed={id === 'clock' ? clockBack : undefined}
                  disabled={how !== 'up' && id !== 'clock'}
                  onClick={() => act({ do: 'host', host, what: id })}
                >
                  {title}
                </button>
              ))}
            </div>
          </li>
        ))}
      </ul>
      <ul class="demo-switches">
        <Switch
          of={state.deployment}
          label={state.deployment.title}
          on={state.deployment.on}
          flip={() => act({ do: 'deploy' })}
        />
      </ul>
      <details>
        <summary>What each of these breaks, and what protects against it</summary>
        <ul>
          {state.hostFaults.map((one) => (
            <li key={one.id}>
              {one.title}: <Why of={one} />
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function Why({ of: { breaks, stands, page, words, title } }: { of: Breakable }) {
  return (
    <>
      {breaks} <strong>{stands}</strong>{' '}
      <a
        href={`/docs/${page}#:~:text=${encodeURIComponent(words)}`}
        aria-label={`${title}: more in ${page}`}
        target="_blank"
        rel="noreferrer"
      >
        more
      </a>
    </>
  );
}

/** A switch that breaks something while it is pressed, with its sentences. */
function Switch({ of, label, on, flip }: { of: Breakable; label: string; on: boolean; flip: () => void }) {
  return (
    <li>
      <button type="button" aria-pressed={on} onClick={flip}>
        {label}
      </button>
      <p>
        <Why of={of} />
      </p>
    </li>
  );
}

function Faults({ state, act }: Props) {
  const [seed, setSeed] = useState(() => Math.floor(Math.random() * 1_000_000));
  return (
    <section>
      <h2>Make services fail</h2>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          act({ do: 'all', seed });
        }}
      >
        <button type="submit" class="primary" disabled={state.allOfIt !== undefined}>
          {state.allOfIt === undefined ? 'All of it, for a minute' : `${state.allOfIt.secondsLeft} s left`}
        </button>
        <label>
          from the seed{' '}
          <input
            type="number"
            min={0}
            value={state.allOfIt?.seed ?? seed}
            onInput={(event) => setSeed(Number(event.currentTarget.value))}
          />
        </label>
      </form>
      <p>
        <Why of={state.all} />
      </p>
      <ul class="demo-switches">
        {state.faults.map((one) => (
          <Switch
            key={one.id}
            of={one}
            label={one.title}
            on={one.on}
            flip={() => act({ do: 'fault', id: one.id, on: !one.on })}
          />
        ))}
      </ul>
    </section>
  );
}

function Guards({ state, act }: Props) {
  const allOff = state.guards.every(({ on }) => !on);
  const ids = state.guards.map(({ id }) => id);
  return (
    <section>
      <h2>Switch guards off</h2>
      <p>
        With any one off nobody is charged twice. With all three off somebody is, even if nothing fails.
        Switching them on again does not undo a charge.
      </p>
      <ul class="demo-switches">
        {state.guards.map((one) => (
          <Switch
            key={one.id}
            of={one}
            label={`${one.title}: ${one.on ? 'on' : 'off'}`}
            on={!one.on}
            flip={() => act({ do: 'guards', ids: [one.id], on: !one.on })}
          />
        ))}
      </ul>
      <div class="actions">
        <button type="button" class="danger" onClick={() => act({ do: 'guards', ids, on: allOff })}>
          {allOff ? 'All three on' : 'All three off'}
        </button>
        <button type="button" disabled={!state.ready} onClick={() => act({ do: 'reset' })}>
          Reset
        </button>
      </div>
    </section>
  );
}

function Invoices({ state: { perSecond, invoices }, act, open }: Props) {
  return (
    <Rows title="Invoices">
      <li>
        <label class="check">
          {perSecond} a second
          <input
            type="range"
            max={20}
            value={perSecond}
            onChange={(event) => act({ do: 'rate', perSecond: Number(event.currentTarget.value) })}
          />
        </label>
      </li>
      {invoices.map(({ id, status, amount, charges }) => (
        <li key={id}>
          <InvoiceButton id={id} open={open} /> {amount} <Status of={status} />
          <span class={charges > 1 ? 'wrong' : 'quiet'}>{charges > 0 && `charged ${charges}×`}</span>
        </li>
      ))}
    </Rows>
  );
}

function Ledger({ state, open }: Props) {
  return (
    <Rows title="The provider’s ledger">
      {state.ledger.map(({ invoice, key, at }) => (
        <li key={key}>
          <span class="quiet">{timeText(at)}</span> <InvoiceButton id={invoice} open={open} />
        </li>
      ))}
    </Rows>
  );
}

function Events({ state }: Props) {
  return (
    <Rows title="What happened">
      {state.events.map(({ at, what, by = '' }) => (
        <li key={`${at} ${by} ${what}`}>
          <span class="quiet">{timeText(at)}</span> {by} {what}
        </li>
      ))}
    </Rows>
  );
}

function Rows({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      <ul class="demo-rows">{children}</ul>
    </section>
  );
}

function InvoiceButton({ id, open }: { id: string; open: (id: string) => void }) {
  return (
    <button type="button" class="icon" aria-label={`Timeline of ${id}`} onClick={() => open(id)}>
      {id}
    </button>
  );
}

/** `12:34:56.7` */
function timeText(at: string): string {
  return at.slice(11, 21);
}
