/** A parameter of a statement. */
export type SqlValue = string | number | null | Uint8Array;

export interface SqlAnswer {
  rows: readonly unknown[];
  /** Number of rows that an insert, an update or a delete has matched. */
  matched: number;
  /** The number that an insert or an update has counted (`last_insert_id`), in databases that have it. */
  counted?: number;
}

/** A session on a SQL server. It runs one statement at a time. */
export interface SqlConnection {
  /** Rejects with the driver's error. */
  run: (statement: string, values?: readonly SqlValue[]) => Promise<SqlAnswer>;
  /** Aborts when the session is over, with the error that ended it as the reason. */
  readonly ended: AbortSignal;
  /** Ends the session at once, even in the middle of a statement. */
  destroy: () => void;
  /** Says goodbye to the server and closes the connection, or gives it back to the pool that it came from. */
  close: () => Promise<unknown>;
}
