import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Certificate } from '../certificate.ts';
import { localPage } from '../localPage.ts';
import { type Administration, administer } from './administration.ts';
import type { Consumers } from './amqp/consumers.ts';
import type { Queue } from './broker/queue.ts';
import { type Faults, faultSchema } from './faults.ts';
import { readable } from './readable.ts';

export interface LocalHttp {
  port: number;
  stop(): Promise<void>;
}

interface Parts extends Administration {
  dropConnections: () => number;
  faults: Faults;
  consumers: Consumers;
}

/** Serves the page and the JSON under `/_local/`, and the management API, whose requests name an `api-version`. */
export async function serveHttp(
  parts: Parts,
  port: number,
  tls: Certificate | undefined,
): Promise<LocalHttp> {
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', `https://${request.headers.host ?? 'localhost'}`);
    const answered = url.searchParams.has('api-version')
      ? administerFor(parts, request, url)
      : url.pathname === '/_local/'
        ? Promise.resolve({ status: 200, type: 'text/html; charset=utf-8', body: localPage })
        : answer(parts, request, url).then(json);
    answered.then(
      (reply) => send(response, reply),
      (error: unknown) => send(response, json({ status: 500, body: { error: String(error) } })),
    );
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Reply {
  status: number;
  body: unknown;
}

async function answer(parts: Parts, request: IncomingMessage, url: URL): Promise<Reply> {
  const call = `${request.method} ${url.pathname}`;
  switch (call) {
    case 'GET /_local/stats':
      return {
        status: 200,
        body: { queues: Object.fromEntries(parts.broker.queues.map(statsOf(parts))) },
      };
    case 'GET /_local/messages':
      return messagesOf(parts, url.searchParams);
    case 'GET /_local/faults':
      return { status: 200, body: parts.faults.list() };
    case 'DELETE /_local/faults':
      parts.faults.clear();
      return { status: 200, body: [] };
    case 'POST /_local/faults':
      return setFault(parts, await readBody(request));
    default:
      return {
        status: 404,
        body: {
          error: `${call}: unknown; only /_local/, /_local/stats, /_local/messages and /_local/faults exist`,
        },
      };
  }
}

/** The first messages of an entity or of its dead-letter queue, without locking them. */
function messagesOf({ broker }: Parts, asked: URLSearchParams): Reply {
  const entity = asked.get('entity') ?? '';
  const queue = broker.find(entity);
  if (queue === undefined) return { status: 404, body: { error: `there is no entity "${entity}"` } };
  const peeked = queue.peek(Number(asked.get('from') ?? 0), 100, undefined, broker.now());
  return { status: 200, body: peeked.map(readable) };
}

const statsOf =
  ({ broker, consumers }: Parts) =>
  (queue: Queue): [string, object] => {
    queue.advance(broker.now());
    const { ready, scheduled, deferred, locked } = queue.counts;
    const dead = queue.deadLetters?.counts;
    const deadLettered = dead === undefined ? 0 : dead.ready + dead.locked + dead.deferred;
    return [
      queue.name,
      {
        active: ready,
        scheduled,
        deferred,
        deadLettered,
        locked,
        ...queue.counters,
        receivers: consumers.waitingAt(queue),
      },
    ];
  };

function setFault({ broker, faults, dropConnections }: Parts, body: string): Reply {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { status: 400, body: { error: 'the body is not JSON' } };
  }
  const parsed = faultSchema.safeParse(json);
  if (!parsed.success) return { status: 400, body: { error: z.prettifyError(parsed.error) } };
  const fault = parsed.data;
  if (fault.kind === 'expire-locks') {
    const only = fault.queue === undefined ? broker.all() : [broker.find(fault.queue)];
    const expired = only.reduce(
      (sum, queue) => sum + (queue?.expireLocks(broker.now(), fault.session) ?? 0),
      0,
    );
    return { status: 200, body: { expired } };
  }
  if (fault.kind === 'drop-connection' && fault.operation === undefined) {
    return { status: 200, body: { dropped: dropConnections() } };
  }
  faults.arm(fault);
  return { status: 201, body: fault };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface Sent {
  status: number;
  type: string;
  body: string;
}

const json = ({ status, body }: Reply): Sent => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
});

/** Answers a request of the management API once what it changes is committed. */
async function administerFor(parts: Parts, request: IncomingMessage, url: URL): Promise<Sent> {
  const { authorization: token, 'if-match': ifMatch } = request.headers;
  const { method = 'GET' } = request;
  const body = await readBody(request);
  const reply = await administer(parts, { method, url, token, updates: ifMatch !== undefined, body });
  await new Promise<void>((resolve) => parts.broker.journal.afterCommit(resolve));
  return { ...reply, type: 'application/atom+xml;type=entry;charset=utf-8' };
}

function send(response: ServerResponse, { status, type, body }: Sent): void {
  response.writeHead(status, { 'content-type': type }).end(body);
}
