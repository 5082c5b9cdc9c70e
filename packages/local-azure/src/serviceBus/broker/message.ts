/** A message as sent. The broker never looks inside `bare`. */
export interface IncomingMessage {
  /** Key of duplicate detection. */
  messageId: string;
  sessionId: string | undefined;
  durable: boolean;
  /** AMQP header field. Does not affect delivery order. */
  priority: number;
  /** Milliseconds. The queue's default applies if it is shorter. */
  timeToLive: number | undefined;
  /** Epoch milliseconds at which the message becomes active. */
  scheduledFor: number | undefined;
  /** The sender's message annotations: AMQP-encoded keys and values, alternating. */
  annotations: Buffer;
  annotationCount: number;
  /** The properties, application properties and body sections, byte for byte as received. */
  bare: Buffer;
}

export interface DeadLetterCause {
  reason: string | undefined;
  description: string | undefined;
}

/** A message as a queue holds it. */
export interface Message extends IncomingMessage {
  /** Unique in its queue and ascending. A scheduled message gets a new one when it becomes active. */
  sequenceNumber: number;
  /** Epoch milliseconds. */
  enqueuedAt: number;
  /** Epoch milliseconds. Infinity: never. */
  expiresAt: number;
  /** Failed deliveries so far: abandoned, or lock expired. */
  deliveryCount: number;
  /** In a dead-letter queue: the cause and the source queue. */
  deadLetter: (DeadLetterCause & { source: string }) | undefined;
}

/** A message under lock. */
export interface Delivery {
  message: Message;
  token: string;
  /** Epoch milliseconds. */
  lockedUntil: number;
}
