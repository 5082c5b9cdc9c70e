import type { Journal } from './journal.ts';
import type { Moves } from './moves.ts';
import type { QueueRules } from './rules.ts';
import type { Sessions } from './sessions.ts';

export type SessionAcceptance =
  | { outcome: 'accepted'; sessionId: string; until: number }
  /** Another receiver holds the requested session. */
  | { outcome: 'taken' }
  /** Any session was requested, but no free session has a message. */
  | { outcome: 'noneFree' };

interface SessionLocksOptions {
  queue: string;
  /** They can change. */
  rules: Pick<QueueRules, 'lockMs'>;
  journal: Journal;
  sessions: Sessions;
  moves: Moves;
}

/** The sessions of a queue as receivers use them: who holds which, and their states. */
export class SessionLocks {
  readonly #queue: string;
  readonly #rules: Pick<QueueRules, 'lockMs'>;
  readonly #journal: Journal;
  readonly #sessions: Sessions;
  readonly #moves: Moves;

  constructor({ queue, rules, journal, sessions, moves }: SessionLocksOptions) {
    this.#queue = queue;
    this.#rules = rules;
    this.#journal = journal;
    this.#sessions = sessions;
    this.#moves = moves;
  }

  /** Locks a session for `holder`. Without an id: the free session with the oldest first message. */
  accept(sessionId: string | undefined, holder: string, now: number): SessionAcceptance {
    this.#moves.advance(now);
    const session =
      sessionId === undefined
        ? this.#sessions.oldestFree((each) => this.#moves.shelf.firstReady(each))
        : this.#sessions.getOrCreate(sessionId);
    if (session === undefined) return { outcome: 'noneFree' };
    if (session.holder !== undefined) return { outcome: 'taken' };
    session.holder = holder;
    this.#moves.due.set(session, now + this.#rules.lockMs);
    return { outcome: 'accepted', sessionId: session.id, until: session.dueAt };
  }

  /** Renews a session's lock and returns its new expiry. Undefined if the session is free. */
  renew(sessionId: string, now: number): number | undefined {
    this.#moves.advance(now);
    const session = this.#sessions.get(sessionId);
    if (session?.holder === undefined) return undefined;
    this.#moves.due.set(session, now + this.#rules.lockMs);
    return session.dueAt;
  }

  /** Frees a session, if `holder` still holds it. */
  release(sessionId: string, holder: string, now: number): void {
    const session = this.#sessions.get(sessionId);
    if (session?.holder === holder) this.#moves.freeSession(session, now);
  }

  isHeldBy(sessionId: string, holder: string, now: number): boolean {
    this.#moves.advance(now);
    return this.#sessions.get(sessionId)?.holder === holder;
  }

  state(sessionId: string): Buffer | null {
    return this.#sessions.get(sessionId)?.state ?? null;
  }

  setState(sessionId: string, state: Buffer | null): void {
    this.#sessions.getOrCreate(sessionId).state = state;
    this.#journal.putSessionState(this.#queue, sessionId, state);
  }

  restoreState(sessionId: string, state: Buffer): void {
    this.#sessions.getOrCreate(sessionId).state = state;
  }
}
