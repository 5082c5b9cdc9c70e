import type { AddressInfo, Server, Socket } from 'node:net';
import type { Certificate } from '../../certificate.ts';
import { underFault } from '../faults.ts';
import { addressIn, attachIncoming, attachOutgoing } from './attach.ts';
import type { LinkEnd, Namespace, Peer } from './peer.ts';
import {
  type AmqpSession,
  type Connection,
  type Container,
  createContainer,
  type EventContext,
  holdAttach,
  incoming,
  outgoing,
  type Receiver,
  type Sender,
} from './rhea.ts';
import { offerSasl, plainAuthenticated } from './sasl.ts';

/** Maximum frame size in bytes, as in the real service. */
const maxFrameSize = 65_536;

/** Maximum unsettled deliveries per AMQP session and direction. */
const sessionWindow = 4096;

/** A message format that no client sends. See `keepBytes`. */
const rawFormat = 0x7fff_ffff;

export interface AmqpServer {
  port: number;
  dropConnections(): number;
  /** Ends the links to an entity that is gone, with its dead letters and its subscriptions. */
  endLinksTo(entity: string): void;
  stop(): Promise<void>;
}

/** Serves the namespace on 127.0.0.1. */
export async function listen(
  namespace: Namespace,
  port: number,
  tls: Certificate | undefined,
): Promise<AmqpServer> {
  const container = createContainer();
  offerSasl(container, namespace.key);
  const peers = new Map<Connection, Peer>();
  serveConnections(container, namespace, peers);
  const server = container.listen({
    host: '127.0.0.1',
    port,
    tcp_no_delay: true,
    ...(tls === undefined ? {} : { transport: 'tls', cert: tls.cert, key: tls.key }),
    max_frame_size: maxFrameSize,
    session_buffer_size: sessionWindow,
    sender_options: { autosettle: false, treat_modified_as_released: false },
    receiver_options: { autoaccept: false, credit_window: 1000 },
  } as Parameters<Container['listen']>[0]);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    dropConnections() {
      const all = [...peers.values()];
      for (const peer of all) peer.drop();
      return all.length;
    },
    endLinksTo(entity) {
      const gone = entity.toLowerCase();
      for (const [connection, peer] of peers)
        connection.each_link((link: Sender | Receiver) => {
          const end = link.is_sender() ? link.source : link.target;
          const address = addressIn(String(end?.address)).toLowerCase();
          if (address !== gone && !address.startsWith(`${gone}/`)) return;
          cleanUp(peer, link, 'closed');
          const description = `The messaging entity '${entity}' could not be found. It was deleted.`;
          link.close({ condition: 'amqp:not-found', description });
        });
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const peer of peers.values()) peer.drop();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
}

function serveConnections(container: Container, namespace: Namespace, peers: Map<Connection, Peer>): void {
  const peerOf = ({ connection }: EventContext): Peer => {
    const known = peers.get(connection);
    if (known !== undefined) return known;
    const peer = createPeer(connection, () => peers.delete(connection));
    peers.set(connection, peer);
    return peer;
  };
  const linkGone = (context: EventContext) => {
    const link = context.sender ?? context.receiver;
    const peer = peers.get(context.connection);
    if (link !== undefined && peer !== undefined) cleanUp(peer, link, 'closed');
  };

  container.on('connection_open', (context: EventContext) => {
    const peer = peerOf(context);
    const { connection } = context;
    peer.authorized = plainAuthenticated(connection);
    const fault = namespace.faults.take('connect');
    if (fault?.kind === 'delay') holdAttach(connection as unknown as Parameters<typeof holdAttach>[0]);
    underFault(fault, namespace.broker.clock, {
      apply: () => connection.open(),
      refuse: (error) => connection.close(error),
      drop: peer.drop,
    });
  });
  container.on('session_open', (context: EventContext) =>
    keepBytes(context.session as unknown as AmqpSession),
  );
  container.on('sender_open', (context: EventContext) => {
    if (context.sender !== undefined) attachOutgoing(namespace, peerOf(context), outgoing(context.sender));
  });
  container.on('receiver_open', (context: EventContext) => {
    if (context.receiver !== undefined)
      attachIncoming(namespace, peerOf(context), incoming(context.receiver));
  });
  container.on('sender_close', linkGone);
  container.on('receiver_close', linkGone);
  container.on('session_close', (context: EventContext) => {
    const peer = peers.get(context.connection);
    if (peer === undefined) return;
    for (const link of peer.cleanups.keys() as Iterable<{ session?: unknown }>) {
      if (link.session === context.session) cleanUp(peer, link, 'closed');
    }
  });
  container.on('connection_close', (context: EventContext) => {
    const peer = peers.get(context.connection);
    if (peer === undefined) return;
    for (const link of peer.cleanups.keys()) cleanUp(peer, link, 'closed');
  });
  container.on('disconnected', (context: EventContext) => peers.get(context.connection)?.drop());
  // rhea reports errors in frame handling here, and then closes that client's connection.
  const report = (error: unknown) => console.error('Service Bus stand-in: closing a connection:', error);
  container.on('error', report);
  container.on('protocol_error', report);
}

function createPeer(connection: Connection, forget: () => void): Peer {
  const peer: Peer = {
    host: () => connection.hostname ?? '127.0.0.1',
    authorized: false,
    replies: new Set(),
    sessionHolders: new Set(),
    cleanups: new Map(),
    drop() {
      forget();
      for (const link of peer.cleanups.keys()) cleanUp(peer, link, 'lost');
      const { socket } = connection as unknown as { socket: Socket };
      if (socket.destroyed) return;
      socket.destroy();
      // rhea does not notice a socket destroyed on this side. Without this its heartbeat would go on.
      (connection as unknown as { _disconnected(): void })._disconnected();
    },
  };
  (connection as unknown as { socket: Socket }).socket.once('close', () => peer.drop());
  return peer;
}

function cleanUp(peer: Peer, link: object, ended: LinkEnd): void {
  const action = peer.cleanups.get(link);
  peer.cleanups.delete(link);
  action?.(ended);
}

/**
 * rhea decodes messages of format 0 and discards their bytes; for any other format it passes on the raw
 * bytes. So this changes the format of each transfer before rhea sees it.
 */
function keepBytes(session: AmqpSession): void {
  const onTransfer = session.on_transfer.bind(session);
  session.on_transfer = (frame) => {
    const { performative } = frame;
    performative.message_format ||= rawFormat;
    onTransfer(frame);
  };
}
