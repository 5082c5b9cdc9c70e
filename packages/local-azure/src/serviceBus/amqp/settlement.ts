import type { Queue } from '../broker/queue.ts';
import { NoDeadLetters, type Settlement } from '../broker/settlement.ts';
import { type AmqpCondition, underFault } from '../faults.ts';
import { DecodeError, withApplicationProperties } from './codec.ts';
import { tokenFromTag } from './lockToken.ts';
import type { Namespace, Peer } from './peer.ts';
import { type AmqpDelivery, asDelivery, type OutgoingLink, outcomes, settle } from './rhea.ts';

/** A settlement requested by a disposition or through `$management`. */
export interface SettlementRequest {
  kind: Settlement['kind'];
  /** Application properties to set on the message. */
  properties?: Record<string, unknown>;
  reason?: string | undefined;
  description?: string | undefined;
}

/** Maximum length of a dead letter's reason and of its description, in characters. */
const maxDeadLetterText = 4096;

/** A dead letter's reason or description is too long. */
export class DeadLetterTextTooLong extends Error {
  override readonly name = 'DeadLetterTextTooLong';

  constructor() {
    super(`The reason and the description of a dead letter have at most ${maxDeadLetterText} characters.`);
  }
}

/**
 * Settles a locked message. False if the lock is lost.
 *
 * @throws {DecodeError} on a malformed message {DeadLetterTextTooLong} {NoDeadLetters}
 */
export function applySettlement(
  queue: Queue,
  token: string,
  request: SettlementRequest,
  now: number,
): boolean {
  const message = queue.lockedMessage(token, now);
  if (message === undefined) return false;
  const { kind, properties = {} } = request;
  if (kind === 'complete') return queue.settle(token, { kind }, now);
  const bare = withApplicationProperties(message.bare, properties);
  if (kind !== 'deadLetter') return queue.settle(token, { kind, bare }, now);
  const cause = { reason: request.reason, description: request.description };
  if ([cause.reason, cause.description].some((said) => said !== undefined && said.length > maxDeadLetterText))
    throw new DeadLetterTextTooLong();
  return queue.settle(token, { kind, cause, bare }, now);
}

/** The error condition for a lost lock. */
export function lockLost(queue: Queue): AmqpCondition {
  return queue.rules.requiresSession
    ? {
        condition: 'com.microsoft:session-lock-lost',
        description: 'The session lock has expired on the message session. Accept the session again.',
      }
    : {
        condition: 'com.microsoft:message-lock-lost',
        description:
          'The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue.',
      };
}

/** Applies the dispositions on a link, and replies to each once it is committed. */
export function settleOnRequest(
  { broker, faults }: Namespace,
  peer: Peer,
  link: OutgoingLink,
  queue: Queue,
  open: Map<string, AmqpDelivery>,
): void {
  function serve(delivery: AmqpDelivery, request: SettlementRequest): void {
    if (typeof delivery.tag === 'string') return;
    const token = tokenFromTag(delivery.tag);
    const refuse = (error: AmqpCondition) => {
      open.delete(token);
      settle(delivery, outcomes.rejected(error));
    };
    const apply = () => {
      try {
        if (!applySettlement(queue, token, request, broker.now())) return refuse(lockLost(queue));
      } catch (error) {
        if (error instanceof NoDeadLetters)
          return refuse({ condition: 'amqp:not-allowed', description: error.message });
        if (error instanceof DeadLetterTextTooLong)
          return refuse({ condition: 'amqp:invalid-field', description: error.message });
        if (!(error instanceof DecodeError)) throw error;
        return refuse({ condition: 'amqp:decode-error', description: error.message });
      }
      open.delete(token);
      broker.journal.afterCommit(() => settle(delivery, outcomes.accepted()));
    };
    underFault(faults.take('settle', queue.name), broker.clock, { apply, refuse, drop: peer.drop });
  }

  const on = (event: string, requestOf: (delivery: AmqpDelivery) => SettlementRequest) =>
    link.on(event, (context) => {
      if (context.delivery === undefined) return;
      const delivery = asDelivery(context.delivery);
      serve(delivery, requestOf(delivery));
    });
  on('accepted', () => ({ kind: 'complete' }));
  on('released', () => ({ kind: 'abandon' }));
  on('modified', ({ remote_state: state }) => ({
    kind: state?.undeliverable_here === true ? 'defer' : 'abandon',
    properties: state?.message_annotations ?? {},
  }));
  on('rejected', ({ remote_state: state }) => {
    const { DeadLetterReason, DeadLetterErrorDescription, ...properties } = state?.error?.info ?? {};
    return {
      kind: 'deadLetter',
      properties,
      reason: text(DeadLetterReason),
      description: text(DeadLetterErrorDescription),
    };
  });
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
