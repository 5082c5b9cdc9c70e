import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { serveDashboard } from '../../src/dashboard/serveDashboard.ts';
import { type Demo, demoAction } from './demo.ts';

const docs = new URL('../../docs/', import.meta.url);

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body: Uint8Array | string | object;
}

/** Serves the demo and its page, on 127.0.0.1 only. */
export async function serveDemo(demo: Demo, page: string): Promise<AsyncDisposable & { address: string }> {
  const pageFile = serveDashboard(page);
  const server = createServer((request, response) => {
    void answer(request)
      .catch(failure)
      .then(({ status = 200, headers = {}, body }) => {
        const isRaw = typeof body === 'string' || body instanceof Uint8Array;
        const type = isRaw ? 'text/plain; charset=utf-8' : 'application/json';
        response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff', ...headers });
        response.end(isRaw ? body : JSON.stringify(body));
      });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method, headers, url = '/' } = request;
    // Another site may point a name of its own at this machine.
    if (headers.host !== host) return { status: 403, body: `host: expected ${host}` };
    const { pathname, searchParams } = new URL(url, `http://${host}`);
    switch (`${method} ${pathname}`) {
      case 'GET /state':
        return { body: demo.state() };
      case 'GET /story':
        return { body: (await demo.story(searchParams.get('invoice') ?? '')) ?? [] };
      case 'POST /act':
        // A browser sends this type to another site only if that site allows it.
        if (headers['content-type'] !== 'application/json')
          return { status: 415, body: 'content-type: expected application/json' };
        await demo.act(demoAction.parse(JSON.parse(await text(request))));
        return { body: demo.state() };
    }
    if (method !== 'GET') return { status: 405, body: `${method}: expected GET` };
    const doc = readdirSync(docs).find((name) => name.endsWith('.md') && pathname === `/docs/${name}`);
    if (doc !== undefined) return { body: readFileSync(new URL(doc, docs), 'utf8') };
    return pageFile({
      params: { path: pathname.slice(1) },
      headers: new Headers({ 'accept-encoding': String(headers['accept-encoding']) }),
    });
  }

  return {
    address: `http://${host}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function failure(error: unknown): Answer {
  if (error instanceof z.ZodError) return { status: 400, body: z.prettifyError(error) };
  return { status: error instanceof SyntaxError ? 400 : 500, body: String(error) };
}
