import { MinHeap } from './minHeap.ts';

/**
 * A queue of due times. The subject's `dueAt` is authoritative: a heap entry that disagrees with it is stale
 * and skipped, so rescheduling (or Infinity for never) needs no search.
 */
export class DueTimes<Subject extends { dueAt: number }> {
  readonly #notes = new MinHeap<{ at: number; subject: Subject }>(({ at }) => at);
  #clearAbove = 1024;
  readonly #onSooner: (at: number) => void;

  /** `onSooner` is called when a new due time is the earliest. */
  constructor(onSooner: (at: number) => void) {
    this.#onSooner = onSooner;
  }

  /** The next due time, or an earlier one if the top entry is stale. */
  next(): number {
    return this.#notes.peek()?.at ?? Infinity;
  }

  set(subject: Subject, at: number): void {
    subject.dueAt = at;
    if (at === Infinity) return;
    this.#notes.push({ at, subject });
    if (this.#notes.size > this.#clearAbove) this.#clearStale();
    if (this.next() === at) this.#onSooner(at);
  }

  /** The next subject due by `now`. Clears its `dueAt`. */
  takeDue(now: number): Subject | undefined {
    while (this.next() <= now) {
      const note = this.#notes.pop();
      if (note === undefined || note.subject.dueAt !== note.at) continue;
      note.subject.dueAt = Infinity;
      return note.subject;
    }
    return undefined;
  }

  #clearStale(): void {
    this.#notes.retain(({ at, subject }) => subject.dueAt === at);
    this.#clearAbove = Math.max(1024, 2 * this.#notes.size);
  }
}
