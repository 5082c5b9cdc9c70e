import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { type ReceivedSpan, spansOf } from './otlp.ts';
import { tracesAbout, traceTree } from './traceTree.ts';

export interface TraceReceiver extends AsyncDisposable {
  /** The value of `OTEL_EXPORTER_OTLP_ENDPOINT` for hosts that are to send here. */
  endpoint: string;
  /** The latest spans, in the order in which they came. */
  spans: readonly ReceivedSpan[];
}

/** Spans that are kept; then the oldest go. */
const mostKept = 200_000;

/**
 * Takes spans as OTLP over HTTP, in JSON, and shows them as text: `GET /?invoice=ID` the traces that an invoice is in,
 * `GET /?trace=ID` one of them. A development tool: it keeps the latest in memory and forgets them when it ends.
 */
export async function startTraceReceiver({ port = 0 }: { port?: number } = {}): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (request.method === 'POST' && url.pathname === '/v1/traces') {
      const zipped = request.headers['content-encoding'] === 'gzip';
      spans.push(...spansOf(await json(zipped ? request.pipe(createGunzip()) : request)));
      if (spans.length > mostKept) spans.splice(0, spans.length - mostKept);
      response.setHeader('content-type', 'application/json').end('{}');
      return;
    }
    const given = url.searchParams;
    const trace = given.get('trace');
    const invoice = given.get('invoice');
    const ids = invoice === null ? [trace ?? ''] : tracesAbout(spans, invoice);
    const known = ids.filter((id) => spans.some(({ traceId }) => traceId === id));
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    if (known.length === 0) {
      response.statusCode = 404;
      response.end('No trace of that is here (yet). Ask with ?invoice=ID or ?trace=ID.\n');
      return;
    }
    const about = invoice ?? undefined;
    response.end(known.map((id) => traceTree(spans, id, about)).join('\n'));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.statusCode = 400;
      response.end(`${String(error)}\n`);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${taken}`,
    spans,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close').catch(() => {});
    },
  };
}
