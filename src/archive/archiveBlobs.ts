/** Where archived invoices are kept: texts under names. */
export interface ArchiveBlobs {
  /**
   * Stores a text, unless another one has the name. `stored`: it is there now, perhaps since an earlier try of this call.
   * `taken`: another text is.
   */
  create(name: string, text: string): Promise<'stored' | 'taken'>;
  /** The text of a file; undefined if no file has this name. */
  read(name: string): Promise<string | undefined>;
  /** Changes the text of a file, if there is one. Only the erasure of a customer does. */
  rewrite(name: string, change: (text: string) => string): Promise<void>;
  /** The names that begin with this, in order. */
  list(prefix: string): AsyncIterable<string>;
}
