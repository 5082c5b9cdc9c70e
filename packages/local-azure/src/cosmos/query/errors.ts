/** A place in the query text: character offsets, end exclusive. */
export type Span = { start: number; end: number };

/**
 * The query is invalid, and the service answers 400. `message` is what the service puts after `Message: ` in
 * its body: `{"errors":[{severity, location, code, message}]}` if the place in the text is known, else plain
 * text.
 */
export class BadQuery extends Error {
  override readonly name = 'BadQuery';
  readonly location: Span | undefined;

  constructor(reason: string, location?: Span, code = 'SC1001', options?: ErrorOptions) {
    super(
      location === undefined
        ? reason
        : JSON.stringify({ errors: [{ severity: 'Error', location, code, message: reason }] }),
      options,
    );
    this.location = location;
  }
}

/** The service supports this feature, the stand-in does not. Answered with 501 and the feature's name. */
export class UnsupportedQuery extends Error {
  override readonly name = 'UnsupportedQuery';
  readonly feature: string;

  constructor(feature: string) {
    super(`The local Cosmos does not support ${feature} in queries.`);
    this.feature = feature;
  }
}
