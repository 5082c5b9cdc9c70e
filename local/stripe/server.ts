import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Answer, ApiRequest } from './api.ts';

/** Longer than any client keeps an idle connection, so that the client always closes first. */
const keepAliveMs = 10 * 60_000;

export interface Handlers {
  api: (request: ApiRequest) => Promise<Answer>;
  local: (method: string, path: string, body: string) => Answer;
}

/** The HTTP side: reads each request, and writes the answer or simulates its failure. */
export function createPaymentsServer({ api, local }: Handlers): Server {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await readBody(request);
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    if (path.startsWith('/_local/')) return send(response, local(method, path, body));
    const key = headers['idempotency-key'];
    const answer = await api({
      method,
      path,
      query: mark === -1 ? '' : url.slice(mark + 1),
      authorization: headers.authorization,
      idempotencyKey: typeof key === 'string' ? key : undefined,
      body,
    });
    send(response, answer);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      // Two cases are not errors: stopping the server aborts delayed calls, and a caller may disconnect while
      // sending its body.
      if (server.listening && !request.destroyed) console.error(error);
      request.socket.destroy();
    });
  });
  server.keepAliveTimeout = keepAliveMs;
  server.requestTimeout = 0;
  return server;
}

/** Uses events, because iterating over the request takes a tenth of the time of a call. */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.once('end', () => resolve(body));
    request.once('error', reject);
  });
}

function send(response: ServerResponse, answer: Answer): void {
  switch (answer.kind) {
    case 'silence':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'answer': {
      const { status, body, headers } = answer;
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(status === 204 ? {} : { 'content-length': Buffer.byteLength(body) }),
        ...headers,
      });
      response.end(body);
    }
  }
}
