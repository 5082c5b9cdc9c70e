/**
 * Gets chosen messages out of a Service Bus dead-letter queue, however many others are in front of them.
 *
 * Service Bus delivers from the front, and hands out by number only what was deferred. So a pass receives the others as well,
 * and holds their locks until it ends: given back earlier, they would come again at once. It peeks first, which locks nothing. That tells an id
 * that is not there from one that another receiver has locked, and a pass that has nothing to find never begins.
 */
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import pLimit from 'p-limit';
import { systemClock } from '../platform/clock.ts';

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
export const requestTimeoutMs = 15_000;
/** Settlements side by side. More of them would hold up the event loop of a process that pays. */
const settleAtOnce = 100;

type Message = ServiceBusReceivedMessage;
export type PassReceiver = Pick<
  ServiceBusReceiver,
  'receiveMessages' | 'completeMessage' | 'abandonMessage' | 'close'
>;

/** A dead-letter queue, as a pass needs it. */
export interface PassedQueue {
  openReceiver(): PassReceiver;
  /** All its messages in the order of their numbers, those locked elsewhere included. */
  peeked(): AsyncIterable<Pick<Message, 'messageId' | 'sequenceNumber'>>;
}

/** Outcome of a pass for one message. */
export type Passed =
  | { kind: 'received'; message: Message; receiver: PassReceiver }
  /** It is there, and stays there. */
  | { kind: 'left'; id: string; why: string };

/** Ids by place in the queue. */
type Wanted = Map<string, string>;

/** Every message with one of these ids. What was received is locked; the consumer settles it. */
export async function* passThrough(
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
export function ignored(): void {}

export function idOf({ messageId, sequenceNumber }: Pick<Message, 'messageId' | 'sequenceNumber'>): string {
  return String(messageId ?? sequenceNumber?.toString());
}
