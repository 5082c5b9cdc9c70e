import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpExchange } from './describeRequest.ts';
import type { Gate, Passage } from './gate.ts';

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface HttpTap {
  port: number;
  /** Waits until the service has answered all it was asked so far: it carries that out even if the host is dead. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export interface HttpTapOptions {
  /** `http://127.0.0.1:PORT` */
  target: string;
  gate: Gate;
  /** The name of a request; undefined if it does not count. */
  describe: (exchange: HttpExchange) => string | undefined;
  /** The name of a request that only its answer reveals. Such a request can only be cut after it was applied. */
  describeAnswer?: (exchange: HttpExchange, answer: HttpAnswer) => string | undefined;
  /** Kills the host behind this tap. */
  kill: () => void;
  /** True once the host has been killed, by this tap or another: what it had sent by then is not forwarded any more. */
  isDead: () => boolean;
  /** Called with every answer, including one that the host does not live to see. */
  answered?: (exchange: HttpExchange, answer: HttpAnswer) => void;
}

/** An HTTP proxy in front of one service for one host. Once the host is killed it forwards nothing more. */
export async function startHttpTap(options: HttpTapOptions): Promise<HttpTap> {
  const { gate, kill, isDead } = options;
  const target = new URL(options.target);
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Socket>();
  const inFlight = new Set<Promise<unknown>>();

  const server = createServer((incoming, response) => {
    const answered = answer(incoming)
      .then(
        (reply) => (reply === undefined ? incoming.socket.destroy() : send(reply)),
        () => incoming.socket.destroy(),
      )
      .finally(() => inFlight.delete(answered));
    inFlight.add(answered);
    function send({ status, headers, body }: HttpAnswer): void {
      response.writeHead(status, headers).end(body);
    }
  });
  server.keepAliveTimeout = 600_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  /** The answer for the host; undefined once the host has been killed. */
  async function answer(incoming: IncomingMessage): Promise<HttpAnswer | undefined> {
    const { method = '', url: path = '', headers } = incoming;
    const exchange: HttpExchange = { method, path, headers, body: await read(incoming) };
    if (isDead()) return undefined;
    const label = options.describe(exchange);
    const passage: Passage = label === undefined ? {} : gate.pass(label);
    if (passage.cut === 'before') return die();
    const reply = await forward(exchange);
    options.answered?.(exchange, reply);
    const late = options.describeAnswer?.(exchange, reply);
    const { cut } = late === undefined ? passage : gate.pass(late, 'after');
    if (cut === 'after') return die();
    return isDead() ? undefined : reply;
  }

  function die(): undefined {
    kill();
    return undefined;
  }

  async function forward({ method, path, headers, body }: HttpExchange): Promise<HttpAnswer> {
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const { hostname: host, port } = target;
      const outgoing = request({ host, port, method, path, headers, agent }, resolve);
      outgoing.once('error', reject);
      outgoing.end(body);
    });
    return { status: reply.statusCode ?? 502, headers: reply.headers, body: await read(reply) };
  }

  async function idle(): Promise<void> {
    await Promise.all(inFlight);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    idle,
    async stop() {
      for (const socket of sockets) socket.destroy();
      // `answered` must see the outcome.
      await Promise.race([idle(), delay(2_000, undefined, { ref: false })]);
      agent.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
