/**
 * Record of all steps: a hash that is the same for the same history, and the steps in words if they are kept.
 */
export interface History {
  /** `who` acts; `what` in words. */
  note(at: number, who: string, what: string): void;
  readonly hash: string;
  readonly steps: number;
  readonly lines: readonly string[];
}

/** `keeps`: whether the words are kept. The hash is FNV-1a over all of them, in two halves. */
export function createHistory(startedAt: number, keeps: boolean): History {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  let steps = 0;
  const lines: string[] = [];

  function add(code: number): void {
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code ^ (low >>> 13), 0x85ebca6b);
  }

  return {
    note(at, who, what) {
      steps++;
      add((at - startedAt) | 0);
      for (let place = 0; place < who.length; place++) add(who.charCodeAt(place));
      for (let place = 0; place < what.length; place++) add(what.charCodeAt(place));
      if (keeps) lines.push(`${timeOf(at - startedAt)}  ${who.padEnd(10)} ${what}`);
    },
    get hash() {
      return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
    },
    get steps() {
      return steps;
    },
    lines,
  };
}

/** `3 04:05:06.789`: days, hours, minutes, seconds. */
function timeOf(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  return `${String(days).padStart(2)} ${new Date(((ms % 86_400_000) + 86_400_000) % 86_400_000).toISOString().slice(11, 23)}`;
}
