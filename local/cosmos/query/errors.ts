/** Where in the query text something is: character offsets, the end exclusive. */
export type Span = { start: number; end: number };

/**
 * The query is wrong; the service answers 400. `message` is what the service puts behind `Message: ` in its
 * body: `{"errors":[{severity, location, code, message}]}` where a place in the text is known, else plain text.
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

/** The service can do this, the stand-in cannot; answered 501 with the feature's name. */
export class UnsupportedQuery extends Error {
  override readonly name = 'UnsupportedQuery';
  readonly feature: string;

  constructor(feature: string) {
    super(`The local Cosmos does not support ${feature} in queries.`);
    this.feature = feature;
  }
}
