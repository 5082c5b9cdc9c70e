/** How far the provider's list of events has been read, in seconds since the epoch on the provider's clock. */
export interface EventCursor {
  /** Undefined: nothing has been read yet. May reject with `StoreAway`. */
  read(): Promise<number | undefined>;
  /** Moves it on, unless somebody else has moved it since it was read as `from`. May reject with `StoreAway`. */
  advance(from: number | undefined, to: number): Promise<void>;
}
