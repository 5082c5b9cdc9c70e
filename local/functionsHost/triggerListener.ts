/** What makes functions run: one per trigger that listens to something. */
export interface TriggerListener {
  /** Resolves when work is taken. */
  start(): Promise<void>;
  /** Takes no new work; what runs goes on and can still be settled. */
  stop(): Promise<void>;
  /** Frees what the listener holds; called once nothing runs any more. */
  close(): Promise<void>;
}
