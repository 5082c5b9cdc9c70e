/** A message that was given up. */
export interface DeadLetter {
  id: string;
  /** The queue that it was in. */
  source: string;
  reason: string;
  /** ISO 8601. */
  at: string | null;
  body: unknown;
}

/** Where messages that were given up end up, and from which they can be sent again. */
export interface DeadLetterSource {
  name: string;
  list(limit: number): Promise<DeadLetter[]>;
  /** Whether an id can be one of this source: it saves searching the others. */
  owns(id: string): boolean;
  /** Sends those with these ids again, and yields each id once it is sent: a later failure undoes nothing. */
  redrive(ids: ReadonlySet<string>): AsyncIterable<string>;
}
