import type { ServiceBusClient, ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { traceProperties, traceparentIn } from '@payonce/jobs/tracing';
import { isPoisonId } from '@payonce/jobs/work-items';
import { systemClock } from '@payonce/leases/clock';
import pLimit from 'p-limit';
import type { DeadLetterSource } from './deadLetters.ts';

/** Milliseconds. Opening a connection that swallows everything takes the client a minute. */
const peekTimeoutMs = 15_000;
const peekAtOnce = 250;

/**
 * The sequence number 0. A client goes on peeking where it stopped, even through another receiver, so it has to be told where
 * to begin. The type of these numbers is not exported: the first one that is seen gives it.
 */
let beginning: ServiceBusReceivedMessage['sequenceNumber'];

/** The dead-letter queue of a Service Bus queue. */
export function serviceBusDeadLetters(
  client: ServiceBusClient,
  queue: string,
  limits: PassLimits = defaultPassLimits,
): DeadLetterSource {
  const deadLetter = { subQueueType: 'deadLetter' } as const;
  const passed: PassedQueue = {
    // No renewals: a pass is over before its first lock ends, and thousands of timers would be kept for nothing.
    openReceiver: () =>
      client.createReceiver(queue, {
        ...deadLetter,
        skipParsingBodyAsJson: true,
        maxAutoLockRenewalDurationInMs: 0,
      }),
    async *peeked() {
      const receiver = client.createReceiver(queue, { ...deadLetter, skipParsingBodyAsJson: true });
      try {
        let behind: string | undefined;
        for (;;) {
          const messages = await peek(receiver, peekAtOnce, behind);
          if (messages.length === 0) return;
          yield* messages;
          behind = messages.at(-1)?.sequenceNumber?.toString();
        }
      } finally {
        await receiver.close();
      }
    },
  };

  async function peek(
    receiver: Pick<ServiceBusReceiver, 'peekMessages'>,
    limit: number,
    behind?: string,
  ): Promise<ServiceBusReceivedMessage[]> {
    const bound = () => ({ abortSignal: AbortSignal.timeout(peekTimeoutMs) });
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
    async list(limit, behind) {
      const receiver = client.createReceiver(queue, deadLetter);
      try {
        const messages = await peek(receiver, limit, behind);
        return messages.map((message) => ({
          id: idOf(message),
          source: queue,
          reason: reasonOf(message),
          at: message.enqueuedTimeUtc?.toISOString() ?? null,
          body: textOf(message.body),
          place: message.sequenceNumber?.toString() ?? '',
        }));
      } finally {
        await receiver.close();
      }
    },
    /**
     * Yields each as soon as it is sent. A message that was sent and whose lock was lost stays in the dead-letter queue. Sending
     * it again is harmless, because its receiver looks at the claims as they are then, and within five minutes the queue drops
     * the second one: it has the same id.
     */
    async *redrive(ids) {
      const sender = client.createSender(queue);
      try {
        for await (const found of passThrough(passed, ids, limits)) {
          if (found.kind === 'left') yield found;
          else {
            const { message, receiver } = found;
            const bound = { abortSignal: AbortSignal.timeout(requestTimeoutMs) };
            await sender.sendMessages(sentAgain(message), bound);
            yield { kind: 'moved', id: idOf(message) };
            await receiver.completeMessage(message).catch(ignored);
          }
        }
      } finally {
        await sender.close();
      }
    },
    async *discard(ids) {
      for await (const found of passThrough(passed, ids, limits)) {
        if (found.kind === 'received') await found.receiver.completeMessage(found.message);
        yield found.kind === 'left' ? found : { kind: 'moved', id: idOf(found.message) };
      }
    },
  };
}

/** A body that is not JSON comes as bytes. */
function textOf(body: unknown): unknown {
  return Buffer.isBuffer(body) ? body.toString() : body;
}

function reasonOf(message: ServiceBusReceivedMessage): string {
  const { deadLetterReason = 'no reason given', deadLetterErrorDescription } = message;
  return deadLetterErrorDescription === undefined
    ? deadLetterReason
    : `${deadLetterReason}: ${deadLetterErrorDescription}`;
}

/** Characters of a message id (https://learn.microsoft.com/azure/service-bus-messaging/service-bus-quotas). */
const longestId = 128;

/** A new id each time: under the old one duplicate detection would drop the message. */
function sentAgain(message: ServiceBusReceivedMessage) {
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
export interface PassLimits {
  /** Messages that it receives, those that it was asked for included. */
  mostReceived: number;
  /** Bytes of their bodies. The client keeps them for as long as it holds the locks. */
  mostBytes: number;
  /** Milliseconds: well within the minute for which a message is locked, or the first would come round again. */
  longestMs: number;
}

export const defaultPassLimits: PassLimits = {
  mostReceived: 20_000,
  mostBytes: 100_000_000,
  longestMs: 40_000,
};

/** A link of the SDK stops receiving at 2,047 messages that are not settled (`BatchingReceiver.receive`). */
const mostPerReceiver = 1_900;
const receiveAtOnce = { first: 50, most: 500 };
/** Longest wait for the next message of a pass (ms). */
const receiveWaitMs = 2_000;
/** Time-out of one request with its retries, in milliseconds. */
const requestTimeoutMs = 15_000;
/** Settlements side by side. More of them would hold up the event loop of a process that pays. */
const settleAtOnce = 100;

type Message = ServiceBusReceivedMessage;
type PassReceiver = Pick<
  ServiceBusReceiver,
  'receiveMessages' | 'completeMessage' | 'abandonMessage' | 'close'
>;

/** A dead-letter queue, as a pass needs it. */
interface PassedQueue {
  openReceiver(): PassReceiver;
  /** All its messages in the order of their numbers, those locked elsewhere included. */
  peeked(): AsyncIterable<Pick<Message, 'messageId' | 'sequenceNumber'>>;
}

/** Outcome of a pass for one message. */
type Passed =
  | { kind: 'received'; message: Message; receiver: PassReceiver }
  /** It is there, and stays there. */
  | { kind: 'left'; id: string; why: string };

/** Ids by place in the queue. */
type Wanted = Map<string, string>;

/**
 * Every message with one of these ids, however many others are in front of them. What was received is locked; the consumer
 * settles it.
 *
 * Service Bus delivers from the front, and hands out by number only what was deferred. So a pass receives the others as well,
 * and holds their locks until it ends: given back earlier, they would come again at once. It peeks first, which locks nothing. That tells an id
 * that is not there from one that another receiver has locked, and a pass that has nothing to find never begins.
 */
async function* passThrough(
  queue: PassedQueue,
  ids: ReadonlySet<string>,
  limits: PassLimits,
): AsyncGenerator<Passed> {
  const wanted = await find(queue, ids);
  if (wanted.size === 0) return;
  const until = systemClock.monotonic() + limits.longestMs;
  const timeIsUp = () => systemClock.monotonic() >= until;
  const passedBy: { receiver: PassReceiver; message: Message }[] = [];
  const receivers: PassReceiver[] = [];
  let received = 0;
  let bytes = 0;
  let end: 'nothing comes' | 'far enough' = 'far enough';
  try {
    let receiver = open();
    let ofReceiver = 0;
    let atOnce = receiveAtOnce.first;
    while (wanted.size > 0 && received < limits.mostReceived && bytes < limits.mostBytes && !timeIsUp()) {
      if (ofReceiver >= mostPerReceiver) {
        receiver = open();
        ofReceiver = 0;
      }
      const room = Math.min(mostPerReceiver - ofReceiver, limits.mostReceived - received);
      const messages = await receiver.receiveMessages(Math.min(atOnce, room), {
        maxWaitTimeInMs: receiveWaitMs,
        ...bound(),
      });
      if (messages.length === 0) {
        end = 'nothing comes';
        break;
      }
      received += messages.length;
      for (const { body } of messages) bytes += Buffer.isBuffer(body) ? body.length : 0;
      ofReceiver += messages.length;
      atOnce = Math.min(atOnce * 2, receiveAtOnce.most);
      const [mine, others] = split(messages, wanted);
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
  for (const id of wanted.values()) yield { kind: 'left', id, why: whyLeft(end, received) };

  function open(): PassReceiver {
    const receiver = queue.openReceiver();
    receivers.push(receiver);
    return receiver;
  }
}

async function find(queue: PassedQueue, ids: ReadonlySet<string>): Promise<Wanted> {
  const wanted: Wanted = new Map();
  for await (const message of queue.peeked()) {
    if (ids.has(idOf(message))) wanted.set(placeOf(message), idOf(message));
  }
  return wanted;
}

function split(messages: readonly Message[], wanted: Wanted): [mine: Message[], others: Message[]] {
  const { mine = [], others = [] } = Object.groupBy(messages, (message) =>
    wanted.has(placeOf(message)) ? 'mine' : 'others',
  );
  return [mine, others];
}

function whyLeft(end: 'nothing comes' | 'far enough', received: number): string {
  return end === 'nothing comes'
    ? 'another receiver has it locked: try again in a minute'
    : `it was not among the first ${received} messages, and one call goes no further: deal with those in front of it first`;
}

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
