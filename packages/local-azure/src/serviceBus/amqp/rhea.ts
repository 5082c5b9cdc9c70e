/**
 * The parts of rhea that a broker needs. rhea's own typings describe a client; the additions here come from
 * the source of rhea 3.0.5 (lib/link.js, lib/session.js, lib/types.js).
 */

import type { AmqpError, Connection, Container, Delivery, EventContext, Receiver, Sender } from 'rhea';
import rhea from 'rhea';

export type { Connection, Container, EventContext, Receiver, Sender };

/** An AMQP value with its type. */
export interface Typed {
  type: { typecode: number };
  value: unknown;
  descriptor?: Typed;
}

type Wrap<Value> = (value: Value) => Typed;

export const types = rhea.types as unknown as {
  wrap: Wrap<unknown>;
  wrap_string: Wrap<string>;
  wrap_symbol: Wrap<string>;
  wrap_int: Wrap<number>;
  wrap_long: Wrap<number | Buffer>;
  wrap_uint: Wrap<number>;
  wrap_ulong: Wrap<number>;
  wrap_uuid: Wrap<Buffer>;
  wrap_timestamp: Wrap<number>;
  wrap_array: (items: unknown[], typecode: number, descriptor?: unknown) => Typed;
  wrap_list: Wrap<unknown[]>;
  wrap_map: Wrap<object>;
  described: (descriptor: Typed, value: Typed) => Typed;
  Timestamp: Wrap<number>;
  Map32: Wrap<Typed[]>;
  Reader: new (buffer: Buffer) => { read(): Typed; remaining(): number };
  Writer: new () => { write(value: Typed): void; toBuffer(): Buffer };
};

/** The fields of a decoded message that `$cbs` and `$management` use. */
export interface RequestMessage {
  message_id?: unknown;
  reply_to?: string;
  subject?: string;
  application_properties?: Record<string, unknown>;
  body?: unknown;
}

export const decodeMessage = (buffer: Buffer) => rhea.message.decode(buffer) as RequestMessage;

export const outcomes = {
  accepted: () => describedOutcome('accepted'),
  rejected: (error: AmqpError) => describedOutcome('rejected', { error }),
};

function describedOutcome(name: 'accepted' | 'rejected', fields?: object): Typed {
  const factories = rhea.message as unknown as Record<string, (fields?: object) => { described(): Typed }>;
  const create = factories[name];
  if (create === undefined) throw new Error(`rhea has no outcome "${name}"`);
  return create(fields).described();
}

export const createContainer = () => rhea.create_container({ id: 'payonce-service-bus' });

interface LinkState {
  local_open: boolean;
  open_requests: number;
}

/** rhea's session, at frame level. */
export interface AmqpSession {
  outgoing: { available(): number };
  on_transfer(frame: TransferFrame): void;
}

export interface TransferFrame {
  performative: { delivery_id: number | null | undefined; message_format: number | null | undefined };
}

interface LinkInternals {
  state: LinkState;
  local: {
    attach: {
      snd_settle_mode: number;
      rcv_settle_mode: number;
      max_message_size: number;
      properties: object;
    };
  };
  issue_flow: boolean;
  credit: number;
  delivery_count: number;
  session: AmqpSession;
  connection: { _register(): void };
}

/** A link the broker sends on. */
export type OutgoingLink = Omit<Sender, 'session' | 'connection'> &
  LinkInternals & { _draining: boolean; _get_drain(): boolean };

/** A link the broker receives on. */
export type IncomingLink = Omit<Receiver, 'session' | 'connection'> & LinkInternals;

export const outgoing = (sender: Sender) => sender as unknown as OutgoingLink;
export const incoming = (receiver: Receiver) => receiver as unknown as IncomingLink;

/** One message's delivery on a link. */
export type AmqpDelivery = Omit<Delivery, 'remote_settled' | 'settled' | 'remote_state'> & {
  remote_settled: boolean;
  settled: boolean;
  remote_state?: {
    undeliverable_here?: boolean;
    message_annotations?: Record<string, unknown>;
    error?: { condition?: string; description?: string; info?: Record<string, unknown> };
  };
};

export const asDelivery = (delivery: Delivery) => delivery as unknown as AmqpDelivery;

/** Settles a delivery and frees its slot in rhea's window, since no disposition will follow. */
export function settle(delivery: AmqpDelivery, outcome: Typed): void {
  delivery.update(true, outcome);
  delivery.remote_settled = true;
}

/** Frees a delivery's slot in the window without telling the peer. */
export function forget(delivery: AmqpDelivery): void {
  delivery.settled = true;
  delivery.remote_settled = true;
}

/** rhea replies to an attach by itself in the next tick. This delays the reply until `link.open()`. */
export function holdAttach(link: { state: LinkState }): void {
  link.state.local_open = false;
  link.state.open_requests = 0;
}
