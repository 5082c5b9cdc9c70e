import { z } from 'zod';
import type { Delivery, Message } from '../broker/message.ts';
import { readMessage } from './codec.ts';
import { encodeDelivered } from './delivered.ts';
import { tokenFromBytes, tokenToBytes } from './lockToken.ts';
import { bytes, empty, gone, type Operation, ok, Refusal } from './managementCall.ts';
import { checkMessage, checkSize } from './producer.ts';
import { types } from './rhea.ts';
import { applySettlement } from './settlement.ts';

const integer = z.union([z.int(), bytes.transform((value) => Number(value.readBigInt64BE(0)))]);
const lockTokens = z.array(bytes.transform(tokenFromBytes));
const text = z.string().nullish();

const requests = {
  renewLock: z.object({ 'lock-tokens': lockTokens }),
  schedule: z.object({ messages: z.array(z.object({ message: bytes })) }),
  sequenceNumbers: z.object({ 'sequence-numbers': z.array(integer) }),
  receive: z.object({ 'sequence-numbers': z.array(integer), 'receiver-settle-mode': z.int() }),
  peek: z.object({
    'from-sequence-number': integer,
    'message-count': z.int(),
    'session-id': text,
    'omit-message-body': z.boolean().nullish(),
  }),
  disposition: z.object({
    'lock-tokens': lockTokens,
    'disposition-status': z.enum(['completed', 'abandoned', 'defered', 'suspended']),
    'deadletter-reason': text,
    'deadletter-description': text,
    'properties-to-modify': z.record(z.string(), z.unknown()).nullish(),
  }),
  batchDelete: z.object({ 'message-count': z.int(), 'enqueued-time-utc': z.date() }),
};

const longArray = 0x81;
const timestampArray = 0x83;
const receiveAndDelete = 0;

const notFound = (sequenceNumber: number) =>
  new Refusal(404, 'com.microsoft:message-not-found', `Message ${sequenceNumber} could not be found.`);

export const messageOperations: Record<string, Operation> = {
  'com.microsoft:renew-lock': ({ queue, now, body }) => {
    const expirations = requests.renewLock.parse(body)['lock-tokens'].map((token) => {
      const until = queue.renew(token, now);
      if (until === undefined) throw gone(queue);
      return until;
    });
    return ok({ expirations: types.wrap_array(expirations, timestampArray) });
  },

  'com.microsoft:schedule-message': ({ queue, now, body }) => {
    const encoded = requests.schedule.parse(body).messages.map(({ message }) => message);
    const size = encoded.reduce((sum, { length }) => sum + length, 0);
    const messages = encoded.map(readMessage);
    const problem =
      checkSize(size) ??
      messages.map((message) => checkMessage(message, queue)).find((found) => found !== undefined);
    if (problem !== undefined) throw new Refusal(400, problem.condition, problem.description);
    // A duplicate is dropped, as in a plain send, and has no number: reply with 0.
    const numbers = messages.map((message) => queue.enqueue(message, now) ?? 0);
    return ok({ 'sequence-numbers': types.wrap_array(numbers, longArray) });
  },

  'com.microsoft:cancel-scheduled-message': ({ queue, now, body }) => {
    for (const number of requests.sequenceNumbers.parse(body)['sequence-numbers']) {
      if (!queue.cancelScheduled(number, now)) throw notFound(number);
    }
    return ok();
  },

  'com.microsoft:peek-message': ({ queue, now, body }) => {
    const request = requests.peek.parse(body);
    if (request['omit-message-body'] === true)
      throw new Refusal(501, 'amqp:not-implemented', 'Peeking without message bodies is not supported here.');
    const sessionId = request['session-id'] ?? undefined;
    const peeked = queue.peek(request['from-sequence-number'], request['message-count'], sessionId, now);
    if (peeked.length === 0) return empty;
    return ok({
      messages: peeked.map(({ message, place }) => ({ message: encodeDelivered(message, { place }) })),
    });
  },

  'com.microsoft:receive-by-sequence-number': ({ queue, now, body }) => {
    const request = requests.receive.parse(body);
    const removes = request['receiver-settle-mode'] === receiveAndDelete;
    const messages = request['sequence-numbers'].map((number) => {
      const received = removes ? queue.takeDeferred(number, now) : queue.lockDeferred(number, now);
      if (received === undefined) throw notFound(number);
      return 'token' in received ? lockedEntry(received) : takenEntry(received);
    });
    return ok({ messages });
  },

  'com.microsoft:update-disposition': ({ queue, now, body }) => {
    const request = requests.disposition.parse(body);
    const kind = (
      { completed: 'complete', abandoned: 'abandon', defered: 'defer', suspended: 'deadLetter' } as const
    )[request['disposition-status']];
    const settlement = {
      kind,
      properties: request['properties-to-modify'] ?? {},
      reason: request['deadletter-reason'] ?? undefined,
      description: request['deadletter-description'] ?? undefined,
    };
    for (const token of request['lock-tokens']) {
      if (!applySettlement(queue, token, settlement, now)) throw gone(queue);
    }
    return ok();
  },

  'com.microsoft:batch-delete-messages': ({ queue, now, body }) => {
    const request = requests.batchDelete.parse(body);
    const count = queue.deleteReady(request['message-count'], request['enqueued-time-utc'].getTime(), now);
    return count === 0 ? empty : ok({ 'message-count': types.wrap_int(count) });
  },
};

function lockedEntry({ message, token, lockedUntil }: Delivery): object {
  return {
    message: encodeDelivered(message, { lockedUntil, place: 'deferred' }),
    'lock-token': types.wrap_uuid(tokenToBytes(token)),
  };
}

const takenEntry = (message: Message) => ({ message: encodeDelivered(message, { place: 'deferred' }) });
