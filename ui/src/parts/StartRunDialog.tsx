import { useContext, useState } from 'preact/hooks';
import { api } from '../api/requests.ts';
import { countText } from '../format/amountText.ts';
import { go } from '../hooks/location.ts';
import { usePolled } from '../hooks/polled.ts';
import { Session } from '../hooks/session.ts';
import { State } from '../hooks/state.ts';
import { ActionButton } from './ActionButton.tsx';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Check } from './Field.tsx';

/** The button that starts a run, with its dialog. While payments are paused a run would claim nothing. */
export function StartRunButton() {
  const { pause } = useContext(State);
  const [starting, setStarting] = useState(false);
  return (
    <>
      <ActionButton
        label="Start run…"
        why={pause ? 'Payments are paused: a run would claim nothing.' : undefined}
        onClick={() => setStarting(true)}
      />
      {starting && <StartRunDialog close={() => setStarting(false)} />}
    </>
  );
}

/** Asks before a run is started. A preview claims nothing and counts what a run would claim. */
export function StartRunDialog({ close, preview = false }: { close: () => void; preview?: boolean }) {
  const { job } = useContext(Session);
  const { data } = usePolled({ name: 'due', load: api.overview });
  const [dryRun, setDryRun] = useState(preview);
  const due = data === undefined ? 'the due invoices' : `${countText(data.backlog.waiting)} due invoices`;
  return (
    <Dialog
      title={dryRun ? 'Preview a run?' : `Start a run for ${due}?`}
      action={dryRun ? 'Preview' : 'Start run'}
      close={close}
      act={async (_, key) => {
        const body = { job, dryRun };
        const { runId } = await api.startRun(body, key);
        announce(dryRun ? 'The preview has started.' : 'The run has started.');
        go(`/runs/${runId}`);
      }}
    >
      <p>
        {dryRun
          ? 'It counts what a run would claim now. Nothing is claimed and nothing is charged.'
          : 'It claims what is due and sends it to be charged. Invoices that another run has claimed are left to it.'}
      </p>
      <Check label="Preview only" checked={dryRun} change={setDryRun} />
    </Dialog>
  );
}
