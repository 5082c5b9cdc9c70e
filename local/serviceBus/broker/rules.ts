export interface QueueRules {
  /** Milliseconds a message or a session stays locked. */
  lockMs: number;
  /** Failed deliveries after which a message is dead-lettered. */
  maxDeliveryCount: number;
  /** Longest time to live in milliseconds; Infinity for none. */
  timeToLiveMs: number;
  deadLetterOnExpiry: boolean;
  requiresSession: boolean;
  /** Undefined: no duplicate detection. */
  duplicateWindowMs: number | undefined;
}

/** A dead-letter queue keeps its messages until someone takes them. */
export function deadLetterRules({ lockMs }: QueueRules): QueueRules {
  return {
    lockMs,
    maxDeliveryCount: Infinity,
    timeToLiveMs: Infinity,
    deadLetterOnExpiry: false,
    requiresSession: false,
    duplicateWindowMs: undefined,
  };
}
