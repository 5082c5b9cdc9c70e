import { useEffect, useRef, useState } from 'preact/hooks';
import type { DemoEvent } from '../../local/demo/demoState.ts';
import { readStory } from './demoCalls.ts';

const everyMs = 1_000;

/** Timeline of one invoice, with every fault that touched it. It goes on while it is open. */
export function Story({ invoice, close }: { invoice: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [story, setStory] = useState<DemoEvent[]>([]);
  const [failure, setFailure] = useState('');

  useEffect(() => {
    const look = () =>
      readStory(invoice).then(
        (read) => {
          setStory(read);
          setFailure('');
        },
        (error: unknown) => setFailure(String(error)),
      );
    dialog.current?.showModal();
    void look();
    const timer = setInterval(() => void look(), everyMs);
    return () => clearInterval(timer);
  }, [invoice]);

  return (
    <dialog ref={dialog} aria-labelledby="story" onClose={close}>
      <h2 id="story">{invoice}</h2>
      {failure !== '' && <p class="wrong">{failure}</p>}
      <ol class="timeline">
        {story.map(({ at, what, by = '' }, index) => (
          <li key={`${at} ${what} ${index}`} class={toneOf(what)}>
            <p>
              <span class="quiet">{at.slice(11, 23)}</span> <strong>{what}</strong>{' '}
              <span class="quiet">{by}</span>
            </p>
          </li>
        ))}
      </ol>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function toneOf(what: string): string {
  if (what === 'paid' || what.startsWith('charged')) return 'good';
  return /begins|ends|Kill|Freeze|Stop|Clock|is (gone|frozen)|unknown|retry/.test(what) ? 'warn' : 'calm';
}
