import { useState } from 'preact/hooks';
import type { OverviewAnswer } from '../../../src/ops/answers/overviewAnswers.ts';
import { api } from '../api/requests.ts';
import { ActionButton } from './ActionButton.tsx';
import { announce } from './Announcements.tsx';
import { Dialog } from './Dialog.tsx';
import { Time } from './Time.tsx';

/** That payments are paused, by whom and why, and the way to go on. */
export function PauseBanner({ pause, done }: { pause: OverviewAnswer['paused']; done: () => void }) {
  const [asking, setAsking] = useState(false);
  if (pause === null) return null;
  return (
    <section class="attention" aria-label="Paused">
      <div class="banner">
        <p>
          Payments are paused by {pause.by}, <Time at={pause.at} />: {pause.reason}
          {pause.until !== null && (
            <>
              . They go on <Time at={pause.until} />
            </>
          )}
        </p>
        <ActionButton label="Resume…" onClick={() => setAsking(true)} />
      </div>
      {asking && (
        <Dialog
          title="Resume payments?"
          action="Resume"
          reason="optional"
          close={() => setAsking(false)}
          act={async (reason) => {
            await api.resume(reason);
            announce('Payments go on; a run of what is due has started.');
            done();
          }}
        >
          <p>What is due is claimed and charged from now on.</p>
        </Dialog>
      )}
    </section>
  );
}
