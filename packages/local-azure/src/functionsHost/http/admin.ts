import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { answerEmpty, readBody } from './httpMessage.ts';
import type { RequestHandler } from './httpServer.ts';
import { type HostKeys, isAllowed } from './keys.ts';

const runRequest = z.object({ input: z.unknown().optional() });

export interface AdminOptions {
  keys: HostKeys | undefined;
  /** Body of `GET /admin/host/status`. */
  status: () => Record<string, unknown>;
  /** Body of `GET /admin/functions`. */
  list: () => readonly Record<string, unknown>[];
  /**
   * Finds the call that starts the named function with an input; undefined if it is unknown or cannot be run
   * this way.
   */
  runOf: (name: string) => ((input: string) => void) | undefined;
}

/** The host's own paths under /admin, each behind the master key. The status codes were seen on the real host (4.1037). */
export function adminHandler({ keys, status, list, runOf }: AdminOptions): RequestHandler {
  return async (request, response, url) => {
    if (!/^\/admin(\/|$)/i.test(url.pathname)) return false;
    const answerJson = (body: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const path = url.pathname.replace(/\/$/, '').toLowerCase();
    const name = /^\/admin\/functions\/([^/]+)\/?$/i.exec(url.pathname)?.[1];
    if (!isAllowed(keys, 'admin', request, url)) {
      // A key that is good for something else is known, but not enough.
      answerEmpty(response, isAllowed(keys, 'function', request, url) ? 403 : 401);
    } else if (request.method === 'GET' && path === '/admin/host/status') answerJson(status());
    else if (request.method === 'GET' && path === '/admin/functions') answerJson(list());
    else if (request.method === 'POST' && name !== undefined) await runFunction(name, request, response);
    else answerEmpty(response, 404);
    return true;
  };

  async function runFunction(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await readBody(request);
    const run = runOf(decodeURIComponent(name));
    if (run === undefined) return answerEmpty(response, 404);
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
      return answerEmpty(response, 415);
    const parsed = runRequest.safeParse(body === undefined ? undefined : parseJson(body.toString()));
    if (!parsed.success) {
      response.writeHead(400, { 'content-type': 'text/plain' }).end('expected {"input": …}\n');
      return;
    }
    const { input } = parsed.data;
    run(typeof input === 'string' ? input : JSON.stringify(input ?? ''));
    answerEmpty(response, 202);
  }
}

function parseJson(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}
