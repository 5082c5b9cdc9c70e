/**
 * Schedules that once found a fault, of the app or of the simulation, which has been mended since. The whole plan is kept, beside
 * this file, because what a seed means changes with what plans are made of.
 */
import { readFileSync } from 'node:fs';
import type { Invariant } from '../invariants/violation.ts';
import type { Plan } from '../plan/plan.ts';

export const regressions: readonly { name: string; found: string }[] = [
  {
    name: 'newer-messages-multiply',
    found: 'messages of a newer release multiply while Service Bus loses answers',
  },
  {
    name: 'method-removed',
    found: 'a delivery that could not ask for the payment method removes the one another has called with',
  },
  {
    name: 'newer-dead-letter',
    found:
      'a message of a newer release is a dead letter, comes back after that release has left, and is sent again for ever',
  },
  {
    name: 'put-off-items-multiply',
    found: 'put-off messages multiply while Queue Storage loses answers',
  },
  {
    name: 'only-copy-dropped',
    found: 'a process that was frozen takes the only copy of a put-off message for a second one',
  },
  {
    name: 'refund-lost-in-a-pause',
    found:
      'a retried work item comes back half a second early, and is taken for a second copy: a refund is lost',
  },
  {
    name: 'events-behind-a-fast-clock',
    found:
      'an instance whose clock is hours ahead reads the list of events up to a time that has not come: a refund is missed',
  },
  {
    name: 'lock-lost-before-work',
    found:
      'a machine stands still between the receipt of a message and the work on it, which then trusts a lost lock',
  },
  {
    name: 'claim-behind-a-pause',
    found: 'a slow store delays a claim until a pause has begun ten seconds ago',
  },
  {
    name: 'settled-by-an-earlier-delivery',
    found:
      'a delivery that was told no payment method puts an invoice back, which a later one of its batch is charging',
  },
  {
    name: 'claims-before-their-turn',
    found: 'more is claimed than its batches have time to call, where one call may take long',
  },
  {
    name: 'poison-given-up',
    found: 'a poison message can be recorded nowhere and put back nowhere, five times in a row, and is lost',
  },
  {
    name: 'queue-slower-than-its-callers',
    found: 'Queue Storage takes put-off messages and answers too late for half an hour, and they multiply',
  },
  {
    name: 'start-denied',
    found: 'the answer to a start is lost, then the store denies access: the start stands, and nobody calls',
  },
  {
    name: 'start-refused-then-denied',
    found:
      'a start goes out twice and is refused, then the store denies access: the start stands, and nobody calls',
  },
  {
    name: 'events-behind-a-pause',
    found: 'a slow lock store delays the list of events until a pause has begun ten seconds ago',
  },
  {
    name: 'copies-at-hand-together',
    found:
      'Queue Storage answers too late for 35 minutes, and every copy at hand is sent again once one send fails',
  },
  {
    name: 'copies-of-each-try',
    found:
      'Queue Storage answers too late for an hour, and the copies that each try of a work item leaves are taken for different ones',
  },
  {
    name: 'key-dated-by-a-fast-clock',
    found:
      'a fast clock dates a key, and the store is away until the provider has forgotten it: a second charge',
  },
  {
    name: 'message-behind-a-slow-clock',
    found:
      'a message waits for two hours, and who takes it has a clock that is as far behind: the provider has forgotten the key, a second charge',
  },
  {
    name: 'payment-in-a-lost-queue',
    found:
      'a queue loses the only word of a payment by a shop, and people void its invoice without the check that finds it',
  },
  {
    name: 'refund-fails-after-another-charge',
    found:
      'a refund of all the money fails days after a person has had the invoice charged again: both payments hold money, and the invoice names both',
  },
  {
    name: 'customer-unknown-behind-a-refused-key',
    found:
      'the provider refuses our key for a day, and an invoice of a customer that it does not know, for which no call was ever taken, waits for a person to vouch that nothing was charged',
  },
  {
    name: 'old-key-after-a-cut-rate',
    found:
      'the provider takes no call for an hour, and a key under which none was taken starts over at once a day later: no delay, as the simulation thought',
  },
];

/** Plans that run for many seconds (`npm run check -- long`). With its guard switched off, each must be noticed again. */
export const longRegressions: readonly {
  name: string;
  found: string;
  /** The name of the guard in test/guards. */
  guard: string;
  /** The invariant that is violated without it. */
  invariant: Invariant;
}[] = [
  {
    name: 'key-behind-a-slow-clock',
    found: 'a clock that steps back makes a key look young that the provider has forgotten: a second charge',
    guard: 'age of a key where the clock of who calls is behind: the time of the message',
    invariant: 'charged once',
  },
  {
    name: 'key-starts-over-with-another-method',
    found: 'a key that is a day old starts over with the new default method of its customer, and is refused',
    guard: 'what a key stands for, kept when it starts over',
    invariant: 'key and parameters',
  },
];

export function keptPlan(name: string): Plan {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as Plan;
}
