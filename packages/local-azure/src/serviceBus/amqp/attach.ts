/** Routes each link that a client attaches. Refuses unsupported ones with an error that names them. */
import type { Queue } from '../broker/queue.ts';
import type { AmqpCondition } from '../faults.ts';
import { serveCbs } from './cbs.ts';
import { serveConsumer } from './consumer.ts';
import { serveManagement } from './management.ts';
import type { Namespace, Peer } from './peer.ts';
import { maxMessageSize, serveProducer } from './producer.ts';
import type { IncomingLink, OutgoingLink } from './rhea.ts';
import { serveSession, sessionFilter } from './sessionLink.ts';

/** Node that an address in the namespace stands for. */
type Node = { kind: 'cbs' } | { kind: 'management'; queue: Queue } | { kind: 'queue'; queue: Queue };

class AttachRefused extends Error {
  readonly condition: AmqpCondition;

  constructor(condition: string, description: string) {
    super(description);
    this.condition = { condition, description };
  }
}

/** Serves a link on which a client sends messages or requests. */
export function attachIncoming(namespace: Namespace, peer: Peer, link: IncomingLink): void {
  orRefuse(link, () => {
    const node = findNode(namespace, peer, link.target?.address, 'target');
    switch (node.kind) {
      case 'cbs':
        serveCbs(peer, link, namespace.key);
        break;
      case 'management':
        serveManagement(namespace, peer, link, node.queue);
        break;
      case 'queue':
        if (node.queue.kind === 'subscription' || node.queue.kind === 'deadLetters') {
          throw new AttachRefused('amqp:not-allowed', `Messages cannot be sent to "${node.queue.name}".`);
        }
        serveProducer(namespace, peer, link, node.queue);
        break;
    }
    link.local.attach.max_message_size = maxMessageSize;
    echoTerminus(link);
  });
}

/** Serves a link on which a client receives messages or replies. */
export function attachOutgoing(namespace: Namespace, peer: Peer, link: OutgoingLink): void {
  orRefuse(link, () => {
    const node = findNode(namespace, peer, link.source?.address, 'source', sessionFilter(link) !== undefined);
    if (node.kind !== 'queue') {
      peer.replies.add(link);
      peer.cleanups.set(link, () => peer.replies.delete(link));
      echoTerminus(link);
      return;
    }
    const { queue } = node;
    if (queue.kind === 'topic')
      throw new AttachRefused(
        'amqp:not-allowed',
        `"${queue.name}" is a topic: receive from its subscriptions.`,
      );
    const filter = sessionFilter(link);
    if (filter === undefined) {
      if (queue.rules.requiresSession) {
        const what = `"${queue.name}" requires sessions: a receiver without a session cannot be created on it.`;
        throw new AttachRefused('amqp:not-allowed', what);
      }
      peer.cleanups.set(link, serveConsumer(namespace, peer, link, queue));
      echoTerminus(link);
      return;
    }
    if (!queue.rules.requiresSession) {
      const what = `"${queue.name}" does not require sessions: a session receiver cannot be created on it.`;
      throw new AttachRefused('amqp:not-allowed', what);
    }
    serveSession(namespace, peer, link, queue, filter.sessionId);
  });
}

function orRefuse(link: IncomingLink | OutgoingLink, attach: () => void): void {
  try {
    attach();
  } catch (error) {
    if (!(error instanceof AttachRefused)) throw error;
    // rhea replies with an attach without source or target, then a detach with the error.
    link.close(error.condition);
  }
}

/** An address without the namespace that it may begin with. */
export const addressIn = (raw: string) => raw.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/^\//, '');

function findNode(
  { broker, create }: Namespace,
  peer: Peer,
  raw: unknown,
  end: 'source' | 'target',
  wantsSession = false,
): Node {
  if (typeof raw !== 'string') {
    throw new AttachRefused(
      'amqp:not-implemented',
      `No ${end} address: transactions are not supported here.`,
    );
  }
  const address = addressIn(raw);
  if (address === '$cbs') return { kind: 'cbs' };
  if (!peer.authorized) {
    const what = 'Unauthorized access: no valid token has been put on $cbs for this connection.';
    throw new AttachRefused('amqp:unauthorized-access', what);
  }
  if (/\/\$transfer\//i.test(address)) {
    throw new AttachRefused('amqp:not-implemented', `"${address}": transfer queues are not supported here.`);
  }
  const managed = /^(.*)\/\$management$/i.exec(address)?.[1];
  const queue = broker.find(managed ?? address) ?? create?.(managed ?? address, wantsSession);
  if (queue === undefined) {
    const entity = `sb://${peer.host()}/${managed ?? address}`;
    const known = broker.entities().map(({ config }) => config.name);
    const what = `The messaging entity '${entity}' could not be found. There are: ${known.slice(0, 20).join(', ') || 'none'}.`;
    throw new AttachRefused('amqp:not-found', what);
  }
  return { kind: managed === undefined ? 'queue' : 'management', queue };
}

/** Confirms to the client the source and target it asked for. */
function echoTerminus(link: IncomingLink | OutgoingLink): void {
  link.local.attach.snd_settle_mode = link.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.rcv_settle_mode;
  link.set_source({ address: link.source?.address ?? '' });
  link.set_target({ address: link.target?.address ?? '' });
}
