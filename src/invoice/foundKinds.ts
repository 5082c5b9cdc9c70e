/** Kinds of text in which a search finds something. */
export const foundKinds = ['invoice', 'payment', 'description', 'amount'] as const;
export type FoundKind = (typeof foundKinds)[number];

/** Something that an invoice is besides its status: a list can be narrowed to it. */
export const onlyValues = ['refunded', 'disputed', 'waitsForRetry'] as const;
export type Only = (typeof onlyValues)[number];
