import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createFrameReader, type Frame } from './amqpFrames.ts';
import { createLinks } from './amqpLinks.ts';
import type { Gate } from './gate.ts';

export interface AmqpTap {
  port: number;
  stop(): Promise<void>;
}

/**
 * A proxy in front of Service Bus for one host; it counts frames. Crash points are: opening a link, presenting a
 * token, a request to a management link (renewing a lock), a send, a message handed out, its settlement. A request is
 * cut before its frame is forwarded, or when the broker's answer to that very frame comes back. A message handed out is
 * cut before the host gets it (it is already locked), or right after.
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
    /** Matches the answer on whose return the host is killed. */
    let awaited: ((frame: Frame) => boolean) | undefined;

    const fromClient = createFrameReader();
    client.on('data', (chunk: Buffer) => {
      for (const frame of fromClient(chunk)) {
        if (dead) return;
        const asked = links.asked(frame);
        const cut = asked === undefined ? undefined : gate.pass(`Service Bus: ${asked.label}`).cut;
        if (cut === 'before') return die();
        if (cut === 'after') awaited = asked?.answeredBy;
        broker.write(frame.bytes);
      }
    });
    const fromBroker = createFrameReader();
    broker.on('data', (chunk: Buffer) => {
      for (const frame of fromBroker(chunk)) {
        if (dead) return;
        const handedOut = links.handedOut(frame);
        if (awaited?.(frame) === true) return die();
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
