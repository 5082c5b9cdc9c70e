import type { Entry, Session } from './entry.ts';
import { MinHeap } from './minHeap.ts';

export const newLane = () => ({ ready: new MinHeap<Entry>((entry) => entry.message.sequenceNumber) });

/** The sessions of a queue. The first message or receiver to name a session creates it. */
export class Sessions {
  readonly #byId = new Map<string, Session>();

  get(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  getOrCreate(id: string): Session {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const created: Session = {
      ...newLane(),
      kind: 'session',
      id,
      state: null,
      holder: undefined,
      dueAt: Infinity,
      locked: new Set(),
    };
    this.#byId.set(id, created);
    return created;
  }

  held(): Session[] {
    return [...this.#byId.values()].filter(({ holder }) => holder !== undefined);
  }

  /** The free session whose first message (per `firstOf`) is the oldest. */
  oldestFree(firstOf: (session: Session) => Entry | undefined): Session | undefined {
    let oldest: { session: Session; sequence: number } | undefined;
    for (const session of this.#byId.values()) {
      const first = session.holder === undefined ? firstOf(session) : undefined;
      if (first === undefined) continue;
      const sequence = first.message.sequenceNumber;
      if (oldest === undefined || sequence < oldest.sequence) oldest = { session, sequence };
    }
    return oldest?.session;
  }
}
