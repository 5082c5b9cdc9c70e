import type { ProviderSilent, RateLimited } from './paymentProvider.ts';

/** What an event says of its payment. `reversed`: a refund or dispute of it has moved. */
export const eventHints = ['succeeded', 'failed', 'alive', 'reversed'] as const;
export type EventHint = (typeof eventHints)[number];

/** An event of the provider that may be about one of our payments. It is a hint to look, never the truth. */
export interface ProviderEvent {
  /** The provider's, at most 100 characters that any id may have. */
  eventId: string;
  hint: EventHint;
  /** At most 100 characters, like the event's id. */
  paymentId: string;
  /** Absent: only the payment itself tells. */
  invoiceId?: string;
}

/** What a text of the provider is. */
export type ReadEvent =
  | { kind: 'event'; event: ProviderEvent }
  /** An event of a kind that changes nothing here, or about a payment that is none of ours. */
  | { kind: 'irrelevant' }
  | { kind: 'malformed' }
  /** It has no signature of the provider, or an old one, and was not parsed. */
  | { kind: 'forged' };

/** Reads an event as it is delivered: the raw body, and the header that signs it. */
export type ReadSignedEvent = (body: Uint8Array, signature: string | null) => ReadEvent;

/** Which events to list, by when they happened, in seconds since the epoch on the provider's clock. */
export interface EventQuery {
  from: number;
  /** Exclusive. Absent: up to now. */
  until?: number;
  /** The `next` of the page before. */
  after?: string;
}

export interface EventPage {
  kind: 'page';
  /** Those that may be about our payments. */
  events: readonly ProviderEvent[];
  /** When the latest event of the page happened, ours or not. Absent: the page is empty. */
  latest?: number;
  /** Names the next page. Absent: this is the last. */
  next?: string;
}

/** The provider's own record of its events, newest first. The call resolves whatever the provider answers. */
export interface ProviderEvents {
  list(query: EventQuery): Promise<EventPage | RateLimited | ProviderSilent>;
}
