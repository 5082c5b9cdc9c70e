/** The invariants by name. */
export const invariants = {
  'charged once': 'money moves for an invoice while other money of it has moved, or may',
  'key after decline': 'a new key appears before the one before it was definitely declined',
  'call remembered': 'an invoice may have been charged, and says that it was never called',
  'key and parameters': 'a key is sent with other parameters',
  'paid means paid': 'the state of an invoice contradicts the ledger',
  'own id': 'the app stores a document of its own under an id that an import could take',
  'legal change': 'an invoice or a message of the outbox changes as its states do not allow',
  'has a time': 'an invoice or a message of the outbox waits for nothing',
  'stale write': 'a writer that has lost its claim or lease has written',
  'no claim, no call': 'a call is made for a claim that was over when the work on it began',
  'message held': 'a call is made under a lock of its message that can no longer be trusted',
  'pause holds': 'ten seconds into a pause, something is claimed or the provider is called',
  'paid alone': 'what may crash its process is called together with something else',
  'advice is safe': 'an invoice is charged although it names a payment that may hold its money',
  'a void holds': 'an invoice is charged that a person has voided',
  'not before it is due': 'an invoice is charged hours before it is due, and nobody has asked for it',
  'others are left alone': 'a payment of another customer or deployment is recorded, refunded or canceled',
  'second payments are seen':
    'somebody else has paid an invoice, was told of, and the invoice does not say so',
  'has a way out': 'no call ends the state of a parked or declined invoice',
  'fence goes up': 'a fence goes back',
  'refunded once': 'more goes back than was asked for, or twice',
  'reversals are known': 'money has gone back or may go, and the invoice does not say so',
  'effect once': 'work is done although its effect is recorded',
  'one receipt': 'a paid invoice has no receipt, or several, or an unpaid one has one',
  'one notification': 'an outcome is announced not at all, or more than once',
  'nothing lost': 'a message is gone, or a dead letter without need',
  'outbox empties': 'a message stays in the outbox',
  'outbox parks nothing': 'a message is parked that its destination did not reject',
  'makes progress': 'something is due, nothing is wrong, and nobody does it',
  ends: 'an invoice neither ends nor waits for a time or a person',
  'start given back': 'a delivery goes on without a call that it has started and not made',
  'unclear only if called': 'an invoice waits for a person, and no call for it can have been made',
  'alert sees it': 'something waits for a person, and no metric says so',
  'runs end': 'a run is shown as running for ever',
  'answer is true': 'a person is told that nothing was done, and it was',
  'summary counts': 'the summary differs from a count of the world',
  'no failure, no delay': 'a call that came too fast counts as a failure',
  'keeps the pace': 'without faults, all instances together charge faster than the provider allows',
  'claimed once': 'without faults, invoices are claimed again because their payment did not begin in time',
  deterministic: 'something was reached that no simulation may reach',
  'no bug': 'the app threw an error that no fault explains',
} as const;

export type Invariant = keyof typeof invariants;

export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
  /** The invoice concerned, if it is one. */
  readonly invoiceId?: string;
  /** Milliseconds from the beginning. */
  readonly at: number;
}

export type Report = (invariant: Invariant, what: string, invoiceId?: string) => void;
