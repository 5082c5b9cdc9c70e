import type { ServiceBusClient, ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { systemClock } from '@payonce/leases/clock';
import pLimit from 'p-limit';
import { traceProperties, traceparentIn } from '../tracing.ts';
import { isPoisonId } from '../workItems/poison.ts';
import type { DeadLetter, DeadLetterSource } from './deadLetters.ts';

const peekAtOnce = 250;

/** The sequence number 0, where peeking begins. The type of these numbers is not exported: the first one seen gives it. */
let beginning: Message['sequenceNumber'];

type Message = ServiceBusReceivedMessage;

/** The dead-letter queue of a Service Bus queue. */
export function serviceBusDeadLetters(
  client: ServiceBusClient,
  queue: string,
  limits = defaultPassLimits,
): DeadLetterSource {
  const deadLetter = { subQueueType: 'deadLetter' } as const;

  async function peek(receiver: ServiceBusReceiver, limit: number, behind?: string): Promise<Message[]> {
    if (beginning === undefined) {
      const [message] = await receiver.peekMessages(1, bound());
      const seen = message?.sequenceNumber;
      // Another call may have moved the client on meanwhile, and knows the number.
      beginning ??= seen?.subtract(seen);
      if (beginning === undefined) return [];
    }
    const fromSequenceNumber = behind === undefined ? beginning : beginning.add(behind).add(1);
    return receiver.peekMessages(limit, { fromSequenceNumber, ...bound() });
  }

  return {
    name: queue,
    owns: (id) => !isPoisonId(id),
    list,
    /**
     * Yields each as soon as it is sent. A message whose lock was lost then stays in the queue, too; its receiver must be
     * idempotent.
     */
    async *redrive(ids) {
      const sender = client.createSender(queue);
      try {
        for await (const found of passThrough(ids)) {
          if (found.kind === 'left') yield found;
          else {
            const { message, receiver } = found;
            await sender.sendMessages(sentAgain(message), bound());
            yield { kind: 'moved', id: idOf(message) };
            await receiver.completeMessage(message).catch(ignored);
          }
        }
      } finally {
        await sender.close();
      }
    },
    async *discard(ids) {
      for await (const found of passThrough(ids)) {
        if (found.kind === 'received') await found.receiver.completeMessage(found.message);
        yield found.kind === 'left' ? found : { kind: 'moved', id: idOf(found.message) };
      }
    },
  };

  async function list(limit: number, behind?: string): Promise<DeadLetter[]> {
    const receiver = client.createReceiver(queue, deadLetter);
    try {
      const messages = await peek(receiver, limit, behind);
      return messages.map((message) => ({
        id: idOf(message),
        source: queue,
        reason: reasonOf(message),
        at: message.enqueuedTimeUtc?.toISOString() ?? null,
        body: textOf(message.body),
        place: placeOf(message),
      }));
    } finally {
      await receiver.close();
    }
  }

  /**
   * Every message with one of these ids; the consumer settles it. Service Bus delivers from the front, so a pass receives the
   * others as well and keeps their locks until it ends, or they would come again. It peeks first: that tells an id that is not
   * there from one that is locked elsewhere.
   */
  async function* passThrough(ids: ReadonlySet<string>): AsyncGenerator<Passed> {
    const wanted = await find(ids);
    if (wanted.size === 0) return;
    const until = systemClock.monotonic() + limits.longestMs;
    const timeIsUp = () => systemClock.monotonic() >= until;
    const passedBy: { receiver: ServiceBusReceiver; message: Message }[] = [];
    const receivers: ServiceBusReceiver[] = [];
    let received = 0;
    let bytes = 0;
    let why: string | undefined;
    try {
      let receiver = open();
      let ofReceiver = 0;
      while (wanted.size > 0 && received < limits.mostReceived && bytes < limits.mostBytes && !timeIsUp()) {
        if (ofReceiver >= mostPerReceiver) {
          receiver = open();
          ofReceiver = 0;
        }
        const room = Math.min(mostPerReceiver - ofReceiver, limits.mostReceived - received);
        const messages = await receiver.receiveMessages(Math.min(receiveAtOnce, room), {
          maxWaitTimeInMs: receiveWaitMs,
          ...bound(),
        });
        if (messages.length === 0) {
          why = 'another receiver has it locked: try again in a minute';
          break;
        }
        received += messages.length;
        for (const { body } of messages) bytes += Buffer.isBuffer(body) ? body.length : 0;
        ofReceiver += messages.length;
        const { mine = [], others = [] } = Object.groupBy(messages, (message) =>
          wanted.has(placeOf(message)) ? 'mine' : 'others',
        );
        for (const message of others) passedBy.push({ receiver, message });
        for (const [nth, message] of mine.entries()) {
          if (timeIsUp()) {
            // Their locks may run out before they are settled.
            for (const late of mine.slice(nth)) passedBy.push({ receiver, message: late });
            break;
          }
          wanted.delete(placeOf(message));
          yield { kind: 'received', message, receiver };
        }
      }
    } finally {
      const limit = pLimit(settleAtOnce);
      await Promise.all(
        passedBy.map(async ({ receiver, message }) =>
          limit(() => receiver.abandonMessage(message).catch(ignored)),
        ),
      );
      await Promise.all(receivers.map((receiver) => receiver.close()));
    }
    why ??= `it was not among the first ${received} messages, and one call goes no further: deal with those in front of it first`;
    for (const id of wanted.values()) yield { kind: 'left', id, why };

    function open(): ServiceBusReceiver {
      // No renewals: a pass is over before its first lock ends, and thousands of timers would be kept for nothing.
      const options = { ...deadLetter, skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 };
      const receiver = client.createReceiver(queue, options);
      receivers.push(receiver);
      return receiver;
    }
  }

  /** The messages that are there, those locked elsewhere included: ids by place in the queue. */
  async function find(ids: ReadonlySet<string>): Promise<Map<string, string>> {
    const wanted = new Map<string, string>();
    for (let behind: string | undefined; ;) {
      const letters = await list(peekAtOnce, behind);
      for (const { id, place } of letters) if (ids.has(id)) wanted.set(place, id);
      behind = letters.at(-1)?.place;
      if (behind === undefined) return wanted;
    }
  }
}

/** A body that is not JSON comes as bytes. */
function textOf(body: unknown): unknown {
  return Buffer.isBuffer(body) ? body.toString() : body;
}

function reasonOf(message: Message): string {
  const { deadLetterReason = 'no reason given', deadLetterErrorDescription } = message;
  return deadLetterErrorDescription === undefined
    ? deadLetterReason
    : `${deadLetterReason}: ${deadLetterErrorDescription}`;
}

/** Characters of a message id (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas). */
const longestId = 128;

/** A new id each time: under the old one duplicate detection would drop the message. */
function sentAgain(message: Message) {
  const { body, contentType, sequenceNumber, applicationProperties } = message;
  const traceparent = traceparentIn(applicationProperties);
  const original = idOf(message).replace(/(:redriven:\d*)+$/, '');
  const suffix = `:redriven:${sequenceNumber?.toString() ?? ''}`;
  return {
    body: body as unknown,
    messageId: `${original.slice(0, longestId - suffix.length)}${suffix}`,
    ...(contentType === undefined ? {} : { contentType }),
    ...(traceparent === undefined ? {} : { applicationProperties: traceProperties(traceparent) }),
  };
}

/** Limits of one pass. */
export const defaultPassLimits = {
  /** Messages that it receives, those that it was asked for included. */
  mostReceived: 20_000,
  /** Bytes of their bodies. The client keeps them for as long as it holds the locks. */
  mostBytes: 100_000_000,
  /** Milliseconds: well within the minute for which a message is locked, or the first would come round again. */
  longestMs: 40_000,
};

/** A link of the SDK stops receiving at 2,047 messages that are not settled (`BatchingReceiver.receive`). */
const mostPerReceiver = 1_900;
const receiveAtOnce = 50;
/** Longest wait for the next message of a pass (ms). */
const receiveWaitMs = 2_000;
/** Time-out of one request with its retries (ms). Opening a connection that swallows everything takes the client a minute. */
const requestTimeoutMs = 15_000;
/** Settlements side by side. More of them would hold up the event loop of a process that pays. */
const settleAtOnce = 100;

/** Outcome of a pass for one message. */
type Passed =
  | { kind: 'received'; message: Message; receiver: ServiceBusReceiver }
  /** It is there, and stays there. */
  | { kind: 'left'; id: string; why: string };

function placeOf({ sequenceNumber }: Pick<Message, 'sequenceNumber'>): string {
  return sequenceNumber?.toString() ?? '';
}

function bound(): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(requestTimeoutMs) };
}

/** The lock or the connection is lost. Either way the lock runs out and the message stays where it is. */
function ignored(): void {}

function idOf({ messageId, sequenceNumber }: Pick<Message, 'messageId' | 'sequenceNumber'>): string {
  return String(messageId ?? sequenceNumber?.toString());
}
