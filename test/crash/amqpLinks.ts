import type { Frame } from './amqpFrames.ts';

/** A request that a client makes with a frame. */
export interface Asked {
  label: string;
  /** True if a frame from the broker answers this request, positively or negatively. */
  answeredBy: (frame: Frame) => boolean;
}

/** The state of one connection, inferred from the frames seen so far. */
export interface Links {
  /**
   * Returns the request that a client frame makes; undefined if it makes none or continues an earlier one.
   */
  asked(frame: Frame): Asked | undefined;
  /** Returns true if a broker frame begins the delivery of a queue's message. */
  handedOut(frame: Frame): boolean;
}

interface Link {
  name: string;
  address: string;
  /** True if the client is its receiver. */
  receives: boolean;
}

/** Each side numbers a session's channel, its links (handles) and its deliveries independently. */
interface Session {
  byClientHandle: Map<number, Link>;
  byBrokerHandle: Map<number, Link>;
  /** The client's handles of links on which it is in the middle of a message. */
  unfinished: Set<number>;
  /** Delivery numbers of queue messages handed out so far. */
  handedOut: Set<number>;
}

export function createLinks(): Links {
  const ofClient = new Map<number, Session>();
  const ofBroker = new Map<number, Session>();

  return {
    asked(frame) {
      if (frame.kind === 'begin') {
        ofClient.set(frame.channel, emptySession());
        return undefined;
      }
      const session = ofClient.get(frame.channel);
      if (session === undefined) return undefined;
      const answered = (matches: (answer: Frame) => boolean) => (answer: Frame) =>
        ofBroker.get(answer.channel) === session && matches(answer);
      switch (frame.kind) {
        case 'attach': {
          const { name, address, receives, handle } = frame;
          session.byClientHandle.set(handle, { name, address, receives });
          return {
            label: `open ${receives ? 'receiver' : 'sender'} ${address}`,
            answeredBy: answered(
              (answer) => answer.kind === 'attach' && answer.name === name && answer.receives !== receives,
            ),
          };
        }
        case 'transfer': {
          const { handle, deliveryId, messageId } = frame;
          const goesOn = session.unfinished.has(handle);
          if (frame.more) session.unfinished.add(handle);
          else session.unfinished.delete(handle);
          if (goesOn) return undefined;
          const address = session.byClientHandle.get(handle)?.address ?? '';
          if (isQueue(address)) {
            return {
              label: 'send',
              answeredBy: answered(
                (answer) => answer.kind === 'disposition' && tells(answer, true, deliveryId),
              ),
            };
          }
          return {
            label: address === '$cbs' ? 'token' : 'renew a lock',
            answeredBy: answered(
              (answer) =>
                answer.kind === 'transfer' &&
                session.byBrokerHandle.get(answer.handle)?.address === address &&
                answer.correlationId === messageId,
            ),
          };
        }
        case 'disposition': {
          const { first, outcome } = frame;
          if (!frame.receives || !session.handedOut.has(first)) return undefined;
          return {
            label: outcome,
            answeredBy: answered((answer) => answer.kind === 'disposition' && tells(answer, false, first)),
          };
        }
        case 'other':
          return undefined;
      }
    },

    handedOut(frame) {
      if (frame.kind === 'begin') {
        const begun = ofClient.get(frame.answers ?? -1);
        if (begun !== undefined) ofBroker.set(frame.channel, begun);
      }
      const session = ofBroker.get(frame.channel);
      if (session === undefined) return false;
      if (frame.kind === 'attach') {
        const link = [...session.byClientHandle.values()].findLast(
          ({ name, receives }) => name === frame.name && receives !== frame.receives,
        );
        if (link !== undefined) session.byBrokerHandle.set(frame.handle, link);
      }
      if (frame.kind !== 'transfer' || frame.deliveryId === undefined) return false;
      if (!isQueue(session.byBrokerHandle.get(frame.handle)?.address ?? '$')) return false;
      // Later parts of a message may repeat its number.
      const isNew = !session.handedOut.has(frame.deliveryId);
      session.handedOut.add(frame.deliveryId);
      return isNew;
    },
  };
}

function emptySession(): Session {
  return {
    byClientHandle: new Map(),
    byBrokerHandle: new Map(),
    unfinished: new Set(),
    handedOut: new Set(),
  };
}

/** `$cbs` and `{queue}/$management` are not queues: they take requests and send answers. */
function isQueue(address: string): boolean {
  return !address.includes('$');
}

/**
 * True if a disposition covers a delivery. `receives`: true if it must come from the receiver, false if from
 * the sender.
 */
function tells(
  disposition: Extract<Frame, { kind: 'disposition' }>,
  receives: boolean,
  deliveryId: number | undefined,
): boolean {
  const { first, last } = disposition;
  return (
    disposition.receives === receives && deliveryId !== undefined && first <= deliveryId && deliveryId <= last
  );
}
