import type { DeadLetterCause, Message } from './message.ts';
import type { QueueRules } from './rules.ts';

/** Settlement of a locked message. `bare`, if given, replaces its bytes. */
export type Settlement =
  | { kind: 'complete' }
  | { kind: 'abandon'; bare?: Buffer }
  | { kind: 'defer'; bare?: Buffer }
  | { kind: 'deadLetter'; cause: DeadLetterCause; bare?: Buffer };

/** A dead letter cannot be dead-lettered. */
export class NoDeadLetters extends Error {
  override readonly name = 'NoDeadLetters';

  constructor(queue: string) {
    super(`Messages of "${queue}" cannot be dead-lettered: they are dead letters.`);
  }
}

/** The cause of death of a message that none of its deliveries has completed; undefined if another one is allowed. Pure. */
export function tooManyDeliveries(
  { deliveryCount }: Pick<Message, 'deliveryCount'>,
  { maxDeliveryCount }: Pick<QueueRules, 'maxDeliveryCount'>,
): DeadLetterCause | undefined {
  if (deliveryCount < maxDeliveryCount) return undefined;
  const description = `Message could not be consumed after ${maxDeliveryCount} delivery attempts.`;
  return { reason: 'MaxDeliveryCountExceeded', description };
}
