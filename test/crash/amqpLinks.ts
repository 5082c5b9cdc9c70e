import type { Frame } from './amqpFrames.ts';

/** What a client asks for with a frame. */
export interface Asked {
  label: string;
  /** Whether a frame of the broker is the answer to this one, be it yes or no. */
  answeredBy: (frame: Frame) => boolean;
}

/** What is known of one connection from the frames that have passed. */
export interface Links {
  /** What a frame of the client asks for; undefined where it asks for nothing, or goes on with what was asked before. */
  asked(frame: Frame): Asked | undefined;
  /** Whether a frame of the broker begins to hand out a message of a queue. */
  handedOut(frame: Frame): boolean;
}

interface Link {
  name: string;
  address: string;
  /** Whether the client is its receiver. */
  receives: boolean;
}

/** One session: each side gives it a channel, and its links handles. Numbers of deliveries are per session and side. */
interface Session {
  byClientHandle: Map<number, Link>;
  byBrokerHandle: Map<number, Link>;
  /** Links on which the client is in the middle of a message, by its handle. */
  unfinished: Set<number>;
  /** Numbers of the messages of queues that were handed out. */
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
      // The further parts of a message may bear its number too.
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

/** `$cbs` and `{queue}/$management` are no queues: requests go there, and their answers come from there. */
function isQueue(address: string): boolean {
  return !address.includes('$');
}

/** Whether a disposition says something of a delivery; `receives`: as its receiver, or as its sender. */
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
