import type { Broker } from '../broker/broker.ts';
import type { Faults } from '../faults.ts';
import type { Consumers } from './consumers.ts';
import type { OutgoingLink } from './rhea.ts';

/** The key that clients sign their tokens with. */
export interface AccessKey {
  name: string;
  value: string;
}

/** What all links work with. */
export interface Namespace {
  broker: Broker;
  faults: Faults;
  key: AccessKey;
  consumers: Consumers;
}

/** One client connection. */
export interface Peer {
  /** A valid token was put on `$cbs`, or PLAIN gave the key. */
  authorized: boolean;
  /** Links on which answers of `$cbs` and `$management` go out. */
  replies: Set<OutgoingLink>;
  /** Names under which this connection's links hold sessions. */
  sessionHolders: Set<string>;
  /** What to do when a link goes, by link. */
  cleanups: Map<object, () => void>;
  /** Cuts the connection without a word. */
  drop: () => void;
}
