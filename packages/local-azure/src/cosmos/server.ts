import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { Certificate } from '../certificate.ts';
import type { Answer } from './answer.ts';
import { CosmosError, errorBody, subStatus, tooLarge } from './errors.ts';
import type { Fault } from './faults.ts';
import { limits } from './validation.ts';

/** A parsed and authorized request, ready to run. */
export interface Prepared {
  /** The fault to inject. */
  fault: Fault | undefined;
  /** Runs the request. @throws {CosmosError} */
  apply(): Answer;
}

/** Checks a request without applying it. @throws {CosmosError} if it is refused */
export type Prepare = (request: IncomingMessage, url: string, body: string) => Prepared;

/** Longer than any client keeps an idle connection, so the client always closes first. */
const keepAliveMs = 10 * 60_000;

/**
 * The HTTP server: reads a request, prepares it, injects its fault, applies it and sends the answer. A
 * request is applied within one turn of the event loop, so requests never overlap.
 *
 * @param closed aborts when the stand-in stops, and cuts delays short
 */
export function createCosmosServer(prepare: Prepare, closed: AbortSignal, tls?: Certificate): Server {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const activityId = headerText(request.headers['x-ms-activity-id']) ?? randomUUID();
    let fault: Fault | undefined;
    let answer: Answer;
    try {
      const prepared = prepare(request, request.url ?? '/', await readBody(request));
      fault = prepared.fault;
      if (fault?.kind === 'reset-before') return reset(request);
      if (fault?.kind === 'delay') await delay(fault.delayMs, undefined, { signal: closed });
      refuse(fault);
      answer = prepared.apply();
    } catch (error) {
      // The client has gone or the stand-in is stopping: nobody is left to answer.
      if (closed.aborted || request.socket.destroyed) return;
      answer = errorAnswer(error, activityId);
    }
    if (fault?.kind === 'reset-after') return reset(request);
    send(response, answer, activityId);
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    handle(request, response).catch(() => reset(request));
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.keepAliveTimeout = keepAliveMs;
  server.requestTimeout = 0;
  return server;
}

/** Refuses a request unapplied, as a busy service would. */
function refuse(fault: Fault | undefined): void {
  if (fault?.kind === '429') {
    throw new CosmosError(429, 'The request rate is too large. Please retry after sometime.', {
      subStatus: subStatus.requestRateTooLarge,
      headers: { 'x-ms-retry-after-ms': String(fault.retryAfterMs) },
    });
  }
  if (fault?.kind === '503') throw new CosmosError(503, 'Service is currently unavailable.');
  if (fault?.kind === '408')
    throw new CosmosError(408, 'The operation did not complete within the allotted time.');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Keep reading past the limit: otherwise the client sees a broken connection instead of the 413.
    if (size <= limits.batchBytes) chunks.push(chunk);
  }
  if (size > limits.batchBytes) throw tooLarge();
  const [only] = chunks;
  return (chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)).toString('utf8');
}

function reset({ socket }: IncomingMessage): void {
  // Over TLS there is no reset, only an end.
  if ('encrypted' in socket) socket.destroy();
  else socket.resetAndDestroy();
}

function errorAnswer(error: unknown, activityId: string): Answer {
  const refused =
    error instanceof CosmosError
      ? error
      : new CosmosError(500, `The local Cosmos failed: ${String(error)}`, { cause: error });
  if (refused.status === 500) console.error(refused.cause);
  return {
    status: refused.status,
    headers: { ...refused.headers, 'x-ms-substatus': String(refused.subStatus), 'x-ms-request-charge': '1' },
    body: errorBody(refused, activityId),
  };
}

function send(response: ServerResponse, { status, headers, body }: Answer, activityId: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-ms-gatewayversion': 'version=2.0.0',
    'x-ms-activity-id': activityId,
    ...(status === 204 || status === 304 ? {} : { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  });
  response.end(status === 204 || status === 304 ? undefined : body);
}

const headerText = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined);
