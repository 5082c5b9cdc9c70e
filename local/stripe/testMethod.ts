import type { Incident } from './incident.ts';
import type { MethodType } from './methodTypes.ts';

/** Why a payment fails at once (https://docs.stripe.com/declines/codes). */
export interface Decline {
  code: string;
  /** Absent if `code` is specific enough. */
  declineCode?: string;
  message: string;
}

/** Why a payment fails after it was accepted. */
export interface LateFailure extends Decline {
  /** The `failure_code` of the charge: the bank's reason. */
  chargeCode: string;
}

export type FailingCalls = 'first' | 'firstTwo' | 'all';

/** Outcome of a charge of the method. */
export type WhenCharged =
  | { kind: 'succeeds' }
  | { kind: 'declines'; decline: Decline }
  /** Its mandate is no longer active: refused before there is a charge. */
  | { kind: 'mandateInactive' }
  /** Needs the customer: declined off-session, otherwise the intent `requires_action`. */
  | { kind: 'requiresAction' }
  /** Succeeds, but an incident hits some calls for an invoice. */
  | { kind: 'fails'; fault: Incident; calls: FailingCalls }
  /** Accepted, with the outcome after so many milliseconds: success unless there is a failure. Absent: never. */
  | { kind: 'processing'; afterMs?: number; failure?: LateFailure };

/** Course of a refund of the method that does not succeed at once, or not for good. */
export interface WhenRefunded {
  /** Its status until then. */
  first: 'pending' | 'succeeded';
  afterMs: number;
  ends: 'succeeded' | 'failed';
}

/** A dispute that opens as soon as the charge has succeeded. */
export interface OpensDispute {
  reason: string;
  /** An inquiry takes no money (https://docs.stripe.com/disputes/how-disputes-work). */
  inquiry: boolean;
}

/** Behaviour of a test payment method. */
export interface TestMethod {
  type: MethodType;
  charged: WhenCharged;
  refunded?: WhenRefunded;
  disputed?: OpensDispute;
}
