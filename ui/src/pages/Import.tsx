import { useContext, useState } from 'preact/hooks';
import { CallFailed } from '../api/call.ts';
import { counted, countText } from '../format/amountText.ts';
import { type SplitFile, splitFile } from '../format/splitFile.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from '../parts/ActionButton.tsx';
import { DropFile } from '../parts/DropFile.tsx';
import { FieldErrors, failureText } from '../parts/Failure.tsx';
import { ImportResult } from '../parts/ImportResult.tsx';
import { importParts, noProgress, type Progress, rowsPerPart } from '../parts/importParts.ts';
import { Page } from '../parts/Page.tsx';

const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description';

type Progressed =
  | { kind: 'empty'; failure?: string }
  | { kind: 'chosen'; name: string; file: SplitFile }
  | { kind: 'sending' | 'done'; name: string; file: SplitFile; progress: Progress; failure?: unknown };

/** Stores the invoices of a file. Sending a file again is safe. */
export function Import() {
  const { pause } = useContext(State);
  const [state, setState] = useState<Progressed>({ kind: 'empty' });

  async function choose(chosen: File): Promise<void> {
    try {
      setState({ kind: 'chosen', name: chosen.name, file: splitFile(await chosen.text(), rowsPerPart) });
    } catch (error) {
      setState({ kind: 'empty', failure: failureText(error) });
    }
  }

  async function send(name: string, file: SplitFile): Promise<void> {
    let latest = noProgress;
    setState({ kind: 'sending', name, file, progress: latest });
    try {
      for await (const progress of importParts(file)) {
        latest = progress;
        setState({ kind: 'sending', name, file, progress });
      }
      setState({ kind: 'done', name, file, progress: latest });
    } catch (error) {
      setState({ kind: 'done', name, file, progress: latest, failure: error });
    }
  }

  return (
    <Page title="Import">
      {state.kind !== 'sending' && <DropFile choose={(file) => void choose(file)} />}
      {state.kind === 'empty' && state.failure !== undefined && (
        <p class="wrong" role="alert">
          {state.failure}
        </p>
      )}
      {state.kind === 'empty' && <Format />}
      {state.kind === 'chosen' && (
        <section class="chosen" aria-label="Chosen file">
          <p>
            <strong>{state.name}</strong>: {counted(state.file.rows, 'row')}. Invoices that are due are
            charged {pause ? 'once payments go on' : 'soon after'}. A row that is stored already changes
            nothing.
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
            <progress max={state.file.rows} value={state.progress.sent} aria-label="Rows sent" />{' '}
            {countText(state.progress.sent)} of {counted(state.file.rows, 'row')} of {state.name}
          </p>
          {state.kind === 'done' && state.failure !== undefined && (
            <div class="failure" role="alert">
              <p>
                {failureText(state.failure)} What was stored stays.{' '}
                {mayHelp(state.failure)
                  ? 'Send the file again: it goes on with the rest.'
                  : 'Sending it again would fail again: put the file right, then choose it once more.'}
              </p>
              <FieldErrors error={state.failure} />
              {mayHelp(state.failure) && (
                <button type="button" onClick={() => void send(state.name, state.file)}>
                  Send again
                </button>
              )}
            </div>
          )}
          <ImportResult progress={state.progress} type={state.file.type} done={state.kind === 'done'} />
        </>
      )}
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
        currency's decimals.
      </p>
      <pre>{`${header}\nINV-2026-0001,cus_Rio,310.84,BRL,2026-01-31T12:00:00Z,pm_card_visa,Domain renewal`}</pre>
      <p>
        Or a JSON array of objects with the same fields, and <code>amountMinor</code> (31084) instead of{' '}
        <code>amount</code>.
      </p>
    </details>
  );
}
