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
  /** Name of the queue or topic that gets every message that becomes ready. */
  forwardTo?: string | undefined;
  /** Name of the queue or topic that gets the dead letters. */
  forwardDeadLettersTo?: string | undefined;
}

/** A dead-letter queue keeps its messages until a receiver removes them. */
export function deadLetterRules({ lockMs, forwardDeadLettersTo }: QueueRules): QueueRules {
  return {
    lockMs,
    maxDeliveryCount: Infinity,
    timeToLiveMs: Infinity,
    deadLetterOnExpiry: false,
    requiresSession: false,
    duplicateWindowMs: undefined,
    forwardTo: forwardDeadLettersTo,
  };
}
