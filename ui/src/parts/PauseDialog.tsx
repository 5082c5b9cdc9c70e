import { useState } from 'preact/hooks';
import { api } from '../api/requests.ts';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Field } from './Field.tsx';

/** Asks before all payments are paused. */
export function PauseDialog({ close, done }: { close: () => void; done: () => void }) {
  const [until, setUntil] = useState('');
  return (
    <Dialog
      title="Pause all payments?"
      action="Pause"
      danger
      reason="required"
      close={close}
      act={async (reason = '') => {
        await api.pause({ reason, ...(until === '' ? {} : { until: `${until}:00Z` }) });
        announce('Payments are paused. It takes up to 10 seconds.');
        done();
      }}
    >
      <p>Within 10 seconds no new claim and no new charge begins. Calls in flight finish.</p>
      <Field name="until" label="Until (UTC, optional)" isTime value={until} change={setUntil} />
    </Dialog>
  );
}
