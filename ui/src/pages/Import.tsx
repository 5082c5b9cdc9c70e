import { useContext, useEffect, useState } from 'preact/hooks';
import { CallFailed } from '../api/call.ts';
import { counted, countText, sumsText } from '../format/amountText.ts';
import { fileText, tellingWords } from '../format/fileText.ts';
import { type SplitFile, splitFile } from '../format/splitFile.ts';
import type { Place } from '../hooks/location.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { DropFile } from '../parts/DropFile.tsx';
import { FieldErrors, failureText } from '../parts/Failure.tsx';
import { beginImport, importParts, rowsPerPart, type Sending } from '../parts/importParts.ts';
import { ImportResult } from '../parts/ImportResult.tsx';
import { Imports } from '../parts/Imports.tsx';
import { Page } from '../parts/Page.tsx';

const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description';

type Progressed =
  | { kind: 'empty'; failure?: string }
  | { kind: 'otherEncoding'; name: string; asWindows: string }
  | { kind: 'chosen'; name: string; file: SplitFile }
  | { kind: 'sending' | 'done'; name: string; file: SplitFile; sending?: Sending; failure?: unknown };

/** The import of this tab: it goes on, and stays to be read, while another page is looked at. */
let latest: Progressed = { kind: 'empty' };
const changed = new EventTarget();

function set(next: Progressed): void {
  latest = next;
  changed.dispatchEvent(new Event('changed'));
}

async function choose(chosen: File): Promise<void> {
  try {
    const read = fileText(new Uint8Array(await chosen.arrayBuffer()));
    if (read.kind === 'text') take(chosen.name, read.text);
    else set({ kind: 'otherEncoding', name: chosen.name, asWindows: read.asWindows });
  } catch (error) {
    set({ kind: 'empty', failure: failureText(error) });
  }
}

function take(name: string, text: string): void {
  try {
    set({ kind: 'chosen', name, file: splitFile(text, rowsPerPart, Date.now()) });
  } catch (error) {
    set({ kind: 'empty', failure: failureText(error) });
  }
}

async function send(name: string, file: SplitFile, before?: Sending): Promise<void> {
  let reached = before === undefined ? {} : { sending: before };
  set({ kind: 'sending', name, file, ...reached });
  try {
    const sending = before ?? (await beginImport(name, file));
    reached = { sending };
    set({ kind: 'sending', name, file, sending });
    for await (const further of importParts(file, sending)) {
      reached = { sending: further };
      set({ kind: 'sending', name, file, sending: further });
    }
    set({ kind: 'done', name, file, ...reached });
  } catch (error) {
    set({ kind: 'done', name, file, ...reached, failure: error });
  }
}

/** Closing the tab would end an import half-way, so the browser asks. */
addEventListener('beforeunload', (event) => {
  if (latest.kind === 'sending') event.preventDefault();
});

/** Stores the invoices of a file. Sending a file again is safe. */
export function Import({ place }: { place: Place }) {
  const { pause } = useContext(State);
  const [state, setState] = useState(latest);
  useEffect(() => {
    const update = () => setState(latest);
    update();
    changed.addEventListener('changed', update);
    return () => changed.removeEventListener('changed', update);
  }, []);

  return (
    <Page title="Import">
      {state.kind !== 'sending' && <DropFile choose={(file) => void choose(file)} />}
      {state.kind === 'empty' && state.failure !== undefined && (
        <p class="wrong" role="alert">
          {state.failure}
        </p>
      )}
      {state.kind === 'otherEncoding' && (
        <section class="chosen" aria-label="Chosen file">
          <p>
            <strong>{state.name}</strong> is not in UTF-8. Excel writes "CSV" in the encoding of Windows
            (Windows-1252), in which these words are: <strong>{tellingWords(state.asWindows)}</strong>. If
            they are wrong, save the file as "CSV UTF-8" and choose that one.
          </p>
          <button type="button" onClick={() => take(state.name, state.asWindows)}>
            They are right
          </button>
        </section>
      )}
      {state.kind === 'empty' && <Format />}
      {state.kind === 'chosen' && (
        <section class="chosen" aria-label="Chosen file">
          <p>
            <strong>{state.name}</strong>: {counted(state.file.rows, 'row')}
            {state.file.amounts.length > 0 && `, ${sumsText(state.file.amounts)}`}.{' '}
            {counted(state.file.due.length, 'row is', 'rows are')} due already
            {state.file.due.length > 0 && ` (${sumsText(state.file.due)})`}.{' '}
            {state.file.unclear > 0 &&
              `${counted(state.file.unclear, 'row has', 'rows have')} no amount that can be read. `}
            {state.file.plainDates > 0 &&
              `${counted(state.file.plainDates, 'due date has', 'due dates have')} no time: midnight UTC is taken. `}
            Invoices that are due are charged {pause ? 'once payments go on' : 'soon after'}. A row that is
            stored already changes nothing.
          </p>
          <ActionButton
            label={`Import ${counted(state.file.rows, 'row')}`}
            why={state.file.rows === 0 ? 'The file has no rows.' : undefined}
            onClick={() => void send(state.name, state.file)}
          />
        </section>
      )}
      {(state.kind === 'sending' || state.kind === 'done') && (
        <>
          <p>
            <progress max={state.file.rows} value={state.sending?.rows ?? 0} aria-label="Rows sent" />{' '}
            {countText(state.sending?.rows ?? 0)} of {counted(state.file.rows, 'row')} of {state.name}
          </p>
          {state.kind === 'done' && state.failure !== undefined && (
            <div class="failure" role="alert">
              <p>
                {failureText(state.failure)} What was stored stays.{' '}
                {mayHelp(state.failure)
                  ? 'Send the rest again: it goes on where it was.'
                  : 'Sending it again would fail again: put the file right, then choose it once more.'}
              </p>
              <FieldErrors error={state.failure} />
              {mayHelp(state.failure) && (
                <button type="button" onClick={() => void send(state.name, state.file, state.sending)}>
                  Send again
                </button>
              )}
            </div>
          )}
          {state.sending !== undefined && (
            <ImportResult key={`${state.sending.importId} ${state.kind}`} id={state.sending.importId} />
          )}
        </>
      )}
      <h2>Imports</h2>
      <Imports place={place} />
    </Page>
  );
}

/** True if the same file may be taken the next time: the app did not answer, is busy, or had a fault. */
function mayHelp(error: unknown): boolean {
  if (!(error instanceof CallFailed)) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

function Format() {
  return (
    <details>
      <summary>What a file looks like</summary>
      <p>
        A CSV file with this header; the last two columns may be left out. The amount has at most the
        currency's decimals. Semicolons between the values are fine, too. A due date without a time is
        midnight UTC.
      </p>
      <pre>{`${header}\nINV-2026-0001,cus_Rio,310.84,BRL,2026-01-31T12:00:00Z,pm_card_visa,Domain renewal`}</pre>
      <p>
        Or a JSON array of objects with the same fields, and <code>amountMinor</code> (31084) instead of{' '}
        <code>amount</code>.
      </p>
    </details>
  );
}
