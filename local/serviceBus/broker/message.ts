/** A message as a sender gave it. The broker never looks into `bare`. */
export interface IncomingMessage {
  /** Key of duplicate detection. */
  messageId: string;
  sessionId: string | undefined;
  durable: boolean;
  /** AMQP header field; it does not change the order of delivery. */
  priority: number;
  /** Milliseconds; the queue's default applies where it is shorter. */
  timeToLive: number | undefined;
  /** Epoch milliseconds at which the message becomes active. */
  scheduledFor: number | undefined;
  /** The sender's message annotations: encoded AMQP keys and values, one after the other. */
  annotations: Buffer;
  annotationCount: number;
  /** The sections from the properties on, byte for byte as they came: properties, application properties, body. */
  bare: Buffer;
}

export interface DeadLetterCause {
  reason: string | undefined;
  description: string | undefined;
}

/** A message as a queue holds it. */
export interface Message extends IncomingMessage {
  /** Unique in its queue and ascending; a scheduled message gets a new one when it becomes active. */
  sequenceNumber: number;
  /** Epoch milliseconds. */
  enqueuedAt: number;
  /** Epoch milliseconds; Infinity for never. */
  expiresAt: number;
  /** Deliveries that failed so far: abandoned, or the lock ran out. */
  deliveryCount: number;
  /** Set in the dead-letter queue: why, and the queue it came from. */
  deadLetter: (DeadLetterCause & { source: string }) | undefined;
}

/** A message under lock. */
export interface Delivery {
  message: Message;
  token: string;
  /** Epoch milliseconds. */
  lockedUntil: number;
}
