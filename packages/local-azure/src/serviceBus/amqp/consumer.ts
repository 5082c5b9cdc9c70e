import { randomUUID } from 'node:crypto';
import type { Queue } from '../broker/queue.ts';
import { underFault } from '../faults.ts';
import { encodeDelivered } from './delivered.ts';
import { tokenToTag } from './lockToken.ts';
import type { Namespace, Peer } from './peer.ts';
import { type AmqpDelivery, asDelivery, forget, type OutgoingLink } from './rhea.ts';
import { settleOnRequest } from './settlement.ts';

const presettled = 1;

/** Serves a link on which a client receives, from one session if `sessionId` is given. Returns a cleanup. */
export function serveConsumer(
  namespace: Namespace,
  peer: Peer,
  link: OutgoingLink,
  queue: Queue,
  sessionId?: string,
): () => void {
  const { broker, consumers, faults } = namespace;
  const removes = link.snd_settle_mode === presettled;
  /** Unsettled deliveries by lock token. */
  const open = new Map<string, AmqpDelivery>();
  // rhea decrements credit when a transfer leaves, not on hand-over, so hand-overs are counted here.
  let handedOver = 0;
  let paused = false;
  let gone = false;

  function hasRoom(): boolean {
    if (gone || paused || link.delivery_count + link.credit <= handedOver) return false;
    if (link.session.outgoing.available() > 0) return true;
    forgetLostLocks();
    return link.session.outgoing.available() > 0;
  }

  /** An expired delivery stays open, so that a late disposition gets a reply, until its slot is needed. */
  function forgetLostLocks(): void {
    for (const [token, delivery] of open) {
      if (queue.lockedMessage(token, broker.now()) !== undefined) continue;
      forget(delivery);
      open.delete(token);
    }
  }

  function deliverOne(): boolean {
    if (!hasRoom() || !queue.hasReady(broker.now(), sessionId)) return false;
    const fault = faults.take('receive', queue.name);
    if (fault === undefined) return handOver();
    paused = true;
    underFault(fault, broker.clock, {
      apply: () => {
        paused = false;
        if (handOver()) consumers.wake(queue);
      },
      refuse: (error) => link.close(error),
      drop: peer.drop,
    });
    return false;
  }

  function handOver(): boolean {
    if (!hasRoom()) return false;
    if (removes) {
      const message = queue.takeNext(broker.now(), sessionId);
      if (message === undefined) return false;
      link.send(encodeDelivered(message), tokenToTag(randomUUID()), 0);
    } else {
      const locked = queue.lockNext(broker.now(), sessionId);
      if (locked === undefined) return false;
      const bytes = encodeDelivered(locked.message, { lockedUntil: locked.lockedUntil });
      open.set(locked.token, asDelivery(link.send(bytes, tokenToTag(locked.token), 0)));
    }
    handedOver++;
    return true;
  }

  // rhea's own version ignores a drain when the credit is already used up, and the client would wait forever.
  link._get_drain = () => {
    if (!link._draining) return false;
    link._draining = false;
    link.delivery_count += link.credit;
    link.credit = 0;
    handedOver = link.delivery_count;
    return true;
  };
  const answerFlow = () => {
    while (deliverOne());
    if (!link._draining) return;
    link.issue_flow = true;
    link.connection._register();
  };
  // Nothing may go out before it is committed.
  link.on('sender_flow', () => broker.journal.afterCommit(answerFlow));
  settleOnRequest(namespace, peer, link, queue, open);
  const leave = consumers.add(queue, { deliverOne, hasRoom });

  return () => {
    gone = true;
    leave();
    for (const delivery of open.values()) forget(delivery);
    open.clear();
  };
}
