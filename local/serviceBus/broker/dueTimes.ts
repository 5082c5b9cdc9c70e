import { MinHeap } from './minHeap.ts';

/**
 * What time moves next. Each subject knows its own `dueAt`; a note that no longer agrees with it is stale and skipped,
 * so setting another time, or Infinity for never, needs no search.
 */
export class DueTimes<Subject extends { dueAt: number }> {
  readonly #notes = new MinHeap<{ at: number; subject: Subject }>(({ at }) => at);
  #clearAbove = 1024;
  readonly #onSooner: (at: number) => void;

  /** `onSooner` is told when something is due earlier than all before. */
  constructor(onSooner: (at: number) => void) {
    this.#onSooner = onSooner;
  }

  /** When something is due, or a little before. */
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

  /** The next subject that is due by `now`; its time is used up. */
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
