import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createFrameReader, type Frame } from './amqpFrames.ts';
import type { Gate } from './gate.ts';

export interface AmqpTap {
  port: number;
  stop(): Promise<void>;
}

/**
 * A proxy in front of Service Bus for one host that counts frames. Points are: opening a link, presenting a token, a
 * request to a management link (renewing a lock), a send, a message that is handed out, its settlement. What the host
 * asks is cut before its frame is forwarded, or when the broker's answer to it comes back; a message that is handed out
 * is cut before the host gets it (it is locked then), or right after.
 */
export async function startAmqpTap({
  port,
  gate,
  kill,
}: {
  port: number;
  gate: Gate;
  kill: () => void;
}): Promise<AmqpTap> {
  const sockets = new Set<Socket>();
  let dead = false;
  const die = () => {
    dead = true;
    kill();
  };

  const server = createServer((client) => {
    const broker = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    const links = createLinks();
    /** The kind of frame whose coming back ends the host. */
    let awaited: Frame['kind'] | undefined;

    const fromClient = createFrameReader();
    client.on('data', (chunk: Buffer) => {
      for (const frame of fromClient(chunk)) {
        if (dead) return;
        const asked = links.asked(frame);
        const cut = asked === undefined ? undefined : gate.pass(`Service Bus: ${asked.label}`).cut;
        if (cut === 'before') return die();
        if (cut === 'after') awaited = asked?.answer;
        broker.write(frame.bytes);
      }
    });
    const fromBroker = createFrameReader();
    broker.on('data', (chunk: Buffer) => {
      for (const frame of fromBroker(chunk)) {
        if (dead) return;
        if (awaited !== undefined && frame.kind === awaited) return die();
        const handedOut = links.handedOut(frame);
        const cut = handedOut ? gate.pass('Service Bus: message handed out').cut : undefined;
        if (cut === 'before') return die();
        client.write(frame.bytes, () => {
          if (cut === 'after') die();
        });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** What the links of one connection are for. Handles are per session, and a session has a channel number on each side. */
function createLinks() {
  /** By the client's channel and handle. */
  const addresses = new Map<string, string>();
  /** By name, which both sides give. */
  const links = new Map<string, { address: string; channel: number }>();
  /** Names by the broker's channel and handle. */
  const names = new Map<string, string>();
  /** What was handed out, by the client's channel and the delivery's number. */
  const deliveries = new Set<string>();
  let unfinished = '';

  return {
    /** What the client asks for, and the kind of frame that answers it. */
    asked(frame: Frame): { label: string; answer: Frame['kind'] } | undefined {
      const channel = channelOf(frame);
      switch (frame.kind) {
        case 'attach': {
          const { name, address, receives, handle } = frame;
          addresses.set(`${channel}/${handle}`, address);
          links.set(name, { address, channel });
          return { label: `open ${receives ? 'receiver' : 'sender'} ${address}`, answer: 'attach' };
        }
        case 'transfer': {
          const key = `${channel}/${frame.handle}`;
          const continued = unfinished === key;
          unfinished = frame.more ? key : '';
          if (continued) return undefined;
          const address = addresses.get(key) ?? '';
          if (address === '$cbs') return { label: 'token', answer: 'transfer' };
          if (address.endsWith('/$management')) return { label: 'renew a lock', answer: 'transfer' };
          return { label: 'send', answer: 'disposition' };
        }
        case 'disposition': {
          const known = deliveries.has(`${channel}/${frame.first}`);
          return known ? { label: frame.outcome, answer: 'disposition' } : undefined;
        }
        case 'other':
          return undefined;
      }
    },
    /** Whether the broker hands out a message of a queue, which may take several frames. */
    handedOut(frame: Frame): boolean {
      const channel = channelOf(frame);
      if (frame.kind === 'attach') names.set(`${channel}/${frame.handle}`, frame.name);
      if (frame.kind !== 'transfer' || frame.deliveryId === undefined) return false;
      const link = links.get(names.get(`${channel}/${frame.handle}`) ?? '');
      if (link === undefined || link.address.startsWith('$') || link.address.includes('/$')) return false;
      const delivery = `${link.channel}/${frame.deliveryId}`;
      const isNew = !deliveries.has(delivery);
      deliveries.add(delivery);
      return isNew;
    },
  };
}

function channelOf({ bytes }: Frame): number {
  return bytes.readUInt16BE(6);
}
