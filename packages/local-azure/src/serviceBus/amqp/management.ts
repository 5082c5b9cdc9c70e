/**
 * `<queue>/$management`: operations on messages, sessions and rules, as documented at
 * https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-request-response
 */
import { z } from 'zod';
import type { Broker } from '../broker/broker.ts';
import type { Queue } from '../broker/queue.ts';
import { NoDeadLetters } from '../broker/settlement.ts';
import { underFault } from '../faults.ts';
import { FilterError } from '../filters/messageView.ts';
import { DecodeError } from './codec.ts';
import { Refusal } from './managementCall.ts';
import { messageOperations } from './messageOperations.ts';
import type { Namespace, Peer } from './peer.ts';
import { type Answer, serveRequests } from './requests.ts';
import type { IncomingLink, RequestMessage } from './rhea.ts';
import { ruleOperations } from './ruleOperations.ts';
import { sessionOperations } from './sessionOperations.ts';
import { DeadLetterTextTooLong } from './settlement.ts';

const operations = { ...messageOperations, ...sessionOperations, ...ruleOperations };

export function serveManagement(namespace: Namespace, peer: Peer, link: IncomingLink, queue: Queue): void {
  const { broker, faults } = namespace;
  serveRequests(peer, link, 'management', (request, answer) => {
    underFault(faults.take('management', queue.name), broker.clock, {
      apply: () => {
        const result = perform(request, peer, queue, broker);
        broker.journal.afterCommit(() => answer(result));
      },
      refuse: ({ condition, description }) =>
        answer({ statusCode: 503, statusDescription: description, errorCondition: condition, body: {} }),
      drop: peer.drop,
    });
  });
}

function perform(request: RequestMessage, peer: Peer, queue: Queue, broker: Broker): Answer {
  const now = broker.now();
  const name = String(request.application_properties?.operation);
  const operation = operations[name];
  try {
    if (operation === undefined) {
      throw new Refusal(501, 'amqp:not-implemented', `The operation "${name}" is not supported here.`);
    }
    const holdsSession = (sessionId: string) =>
      [...peer.sessionHolders].some((holder) => queue.sessionLocks.isHeldBy(sessionId, holder, now));
    return operation({ broker, queue, now, body: request.body, holdsSession });
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    if (error instanceof NoDeadLetters)
      return {
        statusCode: 400,
        statusDescription: error.message,
        errorCondition: 'amqp:not-allowed',
        body: {},
      };
    const isInvalid =
      error instanceof z.ZodError ||
      error instanceof DecodeError ||
      error instanceof FilterError ||
      error instanceof DeadLetterTextTooLong;
    if (!isInvalid) throw error;
    return {
      statusCode: 400,
      statusDescription: error.message,
      errorCondition: 'amqp:invalid-field',
      body: {},
    };
  }
}
