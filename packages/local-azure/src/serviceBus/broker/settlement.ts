import type { DeadLetterCause } from './message.ts';

/** Settlement of a locked message. `bare`, if given, replaces its bytes. */
export type Settlement =
  | { kind: 'complete' }
  | { kind: 'abandon'; bare?: Buffer }
  | { kind: 'defer'; bare?: Buffer }
  | { kind: 'deadLetter'; cause: DeadLetterCause; bare?: Buffer };

/** A dead letter cannot be dead-lettered. */
export class NoDeadLetters extends Error {
  override readonly name = 'NoDeadLetters';

  constructor(queue: string) {
    super(`Messages of "${queue}" cannot be dead-lettered: they are dead letters.`);
  }
}
