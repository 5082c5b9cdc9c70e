import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, createApi } from './api.ts';
import { createFaults } from './faults.ts';
import { openStore } from './store.ts';

export interface PaymentsOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Folder for the data; without one it is kept in memory. */
  data?: string;
  /** How long a new payment stays out of the search, in milliseconds. Stripe says up to a minute; default 20 s. */
  searchLagMs?: number;
  /** Wall-clock milliseconds, for the age of keys and the lag of the search; absent: the system's. */
  now?: () => number;
}

export interface Payments extends AsyncDisposable {
  baseUrl: string;
  secretKey: string;
  port: number;
  stop(): Promise<void>;
}

const secretKey = 'sk_test_local';

/** Starts a server on 127.0.0.1 that speaks a part of Stripe's API, and keeps a ledger of what it charged. */
export async function startPayments({
  port = 0,
  data,
  searchLagMs = 20_000,
  now = Date.now,
}: PaymentsOptions = {}): Promise<Payments> {
  const store = openStore(data);
  const faults = createFaults();
  const api = createApi({ store, faults, now, searchLagMs });
  /** Keys whose first call is under way: only a delayed call can be seen so. */
  const running = new Set<string>();
  let calls = 0;

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      send(response, {
        kind: 'json',
        status: 500,
        body: JSON.stringify({ error: { type: 'api_error', message: String(error) } }),
      });
    });
  });
  server.keepAliveTimeout = 60_000;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://local');
    const body = await read(request);
    if (url.pathname.startsWith('/_local/'))
      return send(response, local(request.method ?? '', url.pathname, body));
    calls++;
    if (request.headers.authorization !== `Bearer ${secretKey}`) {
      return send(response, stripeError(401, 'invalid_request_error', 'Invalid API Key provided'));
    }
    const form = new URLSearchParams(body);
    const key = header(request, 'idempotency-key');
    if (key !== undefined && running.has(key)) {
      const message = `There is currently another in-progress request using this Idempotent Key: ${key}`;
      return send(response, stripeError(409, 'idempotency_error', message));
    }
    const operation = url.pathname.endsWith('/search') ? 'search' : 'charge';
    const waitMs = faults.delayOf({ invoiceId: form.get('metadata[invoiceId]') ?? '', operation });
    if (key !== undefined) running.add(key);
    try {
      if (waitMs > 0) await delay(waitMs);
      const call = {
        method: request.method ?? '',
        path: url.pathname,
        form,
        query: url.searchParams,
        idempotencyKey: key,
      };
      send(response, api(call));
    } finally {
      if (key !== undefined) running.delete(key);
    }
  }

  function local(method: string, path: string, body: string): Answer {
    switch (`${method} ${path}`) {
      case 'GET /_local/charges':
        return { kind: 'json', status: 200, body: store.ledger() };
      case 'GET /_local/stats':
        return { kind: 'json', status: 200, body: JSON.stringify({ calls, charges: store.countCharges() }) };
      case 'GET /_local/faults':
        return { kind: 'json', status: 200, body: JSON.stringify(faults.list()) };
      case 'DELETE /_local/faults':
        faults.clear();
        return { kind: 'json', status: 204, body: '' };
      case 'POST /_local/faults':
        try {
          faults.arm(JSON.parse(body));
          return { kind: 'json', status: 201, body: '{}' };
        } catch (error) {
          return { kind: 'json', status: 400, body: JSON.stringify({ error: String(error) }) };
        }
      default:
        return { kind: 'json', status: 404, body: '{}' };
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  async function stop(): Promise<void> {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    store.close();
  }
  return {
    baseUrl: `http://127.0.0.1:${address.port}`,
    secretKey,
    port: address.port,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function send(response: ServerResponse, answer: Answer): void {
  switch (answer.kind) {
    case 'silence':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'json':
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(answer.body),
        'request-id': `req_${randomBytes(7).toString('hex')}`,
        ...answer.headers,
      });
      response.end(answer.body);
  }
}

function stripeError(status: number, type: string, message: string): Answer {
  return { kind: 'json', status, body: JSON.stringify({ error: { type, message } }) };
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
