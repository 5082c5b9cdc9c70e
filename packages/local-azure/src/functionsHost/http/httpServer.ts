import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AppFunction, HttpTrigger } from '../appFunctions.ts';
import { HostStartError } from '../hostStartError.ts';
import type { Invoker } from '../invoker.ts';
import type { TriggerListener } from '../triggerListener.ts';
import type { Worker } from '../worker/worker.ts';
import { answerEmpty, readBody, toHttpData, writeResponse } from './httpMessage.ts';
import { type HostKeys, isAllowed } from './keys.ts';
import { compareRoutes, parseRoute } from './routeTemplate.ts';
import { answerWithStream } from './streams.ts';

/** Answers the request and resolves with true, or leaves it alone and resolves with false. */
export type RequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => Promise<boolean>;

export interface HttpServerOptions {
  functions: AppFunction<HttpTrigger>[];
  /** Without leading or trailing slash; empty for none. */
  routePrefix: string;
  keys: HostKeys | undefined;
  invoker: Invoker;
  /** Its process may take requests itself, because the app has turned streams on. */
  worker: Pick<Worker, 'current'>;
  /** Handlers of the host's own paths, tried in order before the functions. */
  handlers: RequestHandler[];
}

export interface HttpServer extends TriggerListener {
  listen(port: number): Promise<number>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { invoker, keys, handlers, worker } = options;
  const routes = readRoutes(options);
  let started = false;
  let stopping = false;

  const answerFunction: RequestHandler = async (request, response, url) => {
    if (!started) {
      answerEmpty(response, 503);
      return true;
    }
    for (const { fn, methods, template } of routes) {
      if (!methods.has(request.method ?? '')) continue;
      const params = template.match(url.pathname);
      if (params === undefined) continue;
      if (!isAllowed(keys, fn.trigger.authLevel, request, url)) {
        answerEmpty(response, 401);
        return true;
      }
      const process = await worker.current().catch(() => undefined);
      if (process?.streamsAddress !== undefined) {
        const forwardTo = new URL(process.streamsAddress);
        await answerWithStream({ fn, invoker, process, forwardTo }, { request, response, url, params });
        return true;
      }
      const body = await readBody(request);
      if (body === undefined) {
        response.setHeader('connection', 'close');
        answerEmpty(response, 413);
        return true;
      }
      const result = await invoker
        .invoke(fn, {
          data: { http: toHttpData(request, url, params, body) },
          traceparent: request.headers.traceparent,
        })
        .catch(() => undefined);
      // The error is in the log; none of it leaves the host.
      if (result === undefined) answerEmpty(response, 500);
      else writeResponse(response, result);
      return true;
    }
    return false;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (stopping) response.setHeader('connection', 'close');
    const url = readUrl(request);
    if (url === undefined) {
      answerEmpty(response, 400);
      return;
    }
    for (const handler of [...handlers, answerFunction, answerHealth]) {
      if (await handler(request, response, url)) return;
    }
    answerEmpty(response, 404);
  }

  /** One promise per request whose response is not complete. */
  const unanswered = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const answered = new Promise<void>((resolve) => response.once('close', resolve)).finally(() =>
      unanswered.delete(answered),
    );
    unanswered.add(answered);
    answer(request, response).catch(() => {
      // The connection broke, or the response could not be written.
      if (response.headersSent) response.destroy();
      else answerEmpty(response, 500);
    });
  });

  return {
    async listen(port) {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', resolve);
      });
      return (server.address() as AddressInfo).port;
    },
    async start() {
      started = true;
    },
    async stop() {
      stopping = true;
      server.close();
    },
    async close() {
      await Promise.all(unanswered);
      server.closeAllConnections();
    },
  };
}

/** The functions' routes, in the order they are tried. */
function readRoutes({ functions, routePrefix }: HttpServerOptions) {
  return functions
    .map((fn) => {
      const route = fn.trigger.route ?? fn.name;
      if (/^\/?(admin|runtime)/i.test(route)) {
        throw new HostStartError(
          `function ${fn.name}: the route "${route}" must not start with admin or runtime: the host reserves them`,
        );
      }
      try {
        const template = parseRoute(`${routePrefix}/${route.replace(/^\//, '')}`);
        return { fn, template, methods: new Set(fn.trigger.methods) };
      } catch (error) {
        throw new HostStartError(
          `function ${fn.name}: ${error instanceof Error ? error.message : String(error)}`,
          {
            cause: error,
          },
        );
      }
    })
    .sort((a, b) => compareRoutes(a.template, b.template));
}

const answerHealth: RequestHandler = async (request, response, url) => {
  if (url.pathname !== '/' || !['GET', 'HEAD'].includes(request.method ?? '')) return false;
  // Node sends no body to HEAD.
  response.writeHead(200, { 'content-type': 'text/plain' }).end('Your function app is up and running.\n');
  return true;
};

function readUrl(request: IncomingMessage): URL | undefined {
  const origin = `http://${request.headers.host ?? 'localhost'}`;
  const target = request.url ?? '/';
  return URL.parse(target.startsWith('/') ? origin + target : target) ?? undefined;
}
