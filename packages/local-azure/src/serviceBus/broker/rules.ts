export interface QueueRules {
  /** Lock duration of a message or session, in milliseconds. */
  lockMs: number;
  /** Failed deliveries that dead-letter a message. */
  maxDeliveryCount: number;
  /** Maximum time to live, in milliseconds. Infinity: no limit. */
  timeToLiveMs: number;
  deadLetterOnExpiry: boolean;
  requiresSession: boolean;
  /** Milliseconds. Undefined: no duplicate detection. */
  duplicateWindowMs: number | undefined;
}

/** A dead-letter queue keeps its messages until a receiver removes them. */
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
