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

/** The state of something: the word says it, the colour only helps. */
export function Status({ of }: { of: string }) {
  return <span class={`status ${tones[of] ?? 'calm'}`}>{of}</span>;
}
