import type { Broker } from '../broker/broker.ts';
import type { Queue } from '../broker/queue.ts';
import type { Faults } from '../faults.ts';
import type { Consumers } from './consumers.ts';
import type { OutgoingLink } from './rhea.ts';

/** The key that clients sign their tokens with. */
export interface AccessKey {
  name: string;
  value: string;
}

/** State shared by all links. */
export interface Namespace {
  broker: Broker;
  faults: Faults;
  key: AccessKey;
  consumers: Consumers;
  /** Creates what is at an address that there is nothing at. Absent: that is an error. */
  create?: ((address: string, wantsSession: boolean) => Queue | undefined) | undefined;
}

/** End of a link: its client closed it, or the connection was lost. */
export type LinkEnd = 'closed' | 'lost';

/** One client connection. */
export interface Peer {
  /** The namespace's host name, as the client addressed it. */
  host: () => string;
  /** The client put a valid token on `$cbs`, or gave the key with PLAIN. */
  authorized: boolean;
  /** Links that carry replies from `$cbs` and `$management`. */
  replies: Set<OutgoingLink>;
  /** Holder ids under which this connection's links hold sessions. */
  sessionHolders: Set<string>;
  /** The action to run when a link ends, by link. */
  cleanups: Map<object, (ended: LinkEnd) => void>;
  /** Cuts the connection without an AMQP close. */
  drop: () => void;
}
