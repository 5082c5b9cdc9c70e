import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { answerEmpty, readBody } from './httpMessage.ts';
import type { RequestHandler } from './httpServer.ts';
import { type HostKeys, isAllowed } from './keys.ts';

const runRequest = z.object({ input: z.unknown() });

export interface AdminOptions {
  keys: HostKeys | undefined;
  /** Body of `GET /admin/host/status`. */
  status: () => Record<string, unknown>;
  /** Starts the named function with that input; false if it is unknown or cannot be run this way. */
  run: (name: string, input: string) => boolean;
}

/** The host's own paths under /admin, each behind the master key. */
export function adminHandler({ keys, status, run }: AdminOptions): RequestHandler {
  return async (request, response, url) => {
    if (!/^\/admin(\/|$)/i.test(url.pathname)) return false;
    if (!isAllowed(keys, 'admin', request, url)) answerEmpty(response, 401);
    else if (request.method === 'GET' && /^\/admin\/host\/status\/?$/i.test(url.pathname)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(status()));
    } else {
      const name = /^\/admin\/functions\/([^/]+)\/?$/i.exec(url.pathname)?.[1];
      if (request.method === 'POST' && name !== undefined) await runFunction(name, request, response);
      else answerEmpty(response, 404);
    }
    return true;
  };

  async function runFunction(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = await readBody(request);
    const parsed = runRequest.safeParse(body === undefined ? undefined : parseJson(body.toString()));
    if (!parsed.success) {
      response.writeHead(400, { 'content-type': 'text/plain' }).end('expected {"input": …}\n');
      return;
    }
    const { input } = parsed.data;
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? '');
    answerEmpty(response, run(decodeURIComponent(name), text) ? 202 : 404);
  }
}

function parseJson(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}
