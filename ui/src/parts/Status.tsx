import { meaningOf } from '../format/glossary.ts';

const tones: Readonly<Record<string, 'good' | 'bad' | 'busy' | 'warn'>> = {
  paid: 'good',
  completed: 'good',
  succeeded: 'good',
  dispatched: 'good',
  won: 'good',
  held: 'busy',
  claimed: 'busy',
  processing: 'busy',
  running: 'busy',
  parked: 'bad',
  failed: 'bad',
  abandoned: 'bad',
  lost: 'bad',
  open: 'bad',
  declined: 'warn',
  partial: 'warn',
  skipped: 'warn',
  cancelled: 'warn',
};

/** The words of the page for states whose own words only engineers know. */
const words: Readonly<Record<string, string>> = { claimed: 'being charged', parked: 'needs a decision' };

/** The word of the page for a state. Pure. */
export function statusWord(of: string): string {
  return words[of] ?? of;
}

/** The state of something: the word says it, the colour only helps. The app's own word shows on hover. */
export function Status({ of }: { of: string }) {
  const meaning = meaningOf(of);
  return (
    <span class={`status ${tones[of] ?? 'calm'}`} title={meaning === undefined ? of : `${of}: ${meaning}`}>
      {statusWord(of)}
    </span>
  );
}
