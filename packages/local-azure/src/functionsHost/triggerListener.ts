/** Listens to a trigger's source and runs its functions. */
export interface TriggerListener {
  /** Resolves once it takes work. */
  start(): Promise<void>;
  /** Takes no new work. Running invocations continue and can still be settled. */
  stop(): Promise<void>;
  /** Releases its resources. Call once nothing is running. */
  close(): Promise<void>;
}
