import type { InvoiceContent } from '../invoice.ts';

export type AddOutcome =
  | 'created'
  /** It is stored already, with the same content. */
  | 'duplicate'
  /** Its id is stored already, with other content. */
  | 'otherContent'
  /** Its id is that of another kind of document. */
  | 'idTaken'
  | 'notStored'
  /** It may have been stored: the answer was lost. */
  | 'unclear';

export interface AddOptions {
  /** Who stores them. */
  by: string;
  /** Milliseconds after which no transaction begins any more. */
  withinMs: number;
  /** Called once for each, as soon as it is known. */
  settled: (invoice: InvoiceContent, outcome: AddOutcome) => void;
}

export interface Added {
  /** Why something was not stored: the last error of the store. */
  failure?: unknown;
}
