import { randomUUID } from 'node:crypto';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { AppFunction, HttpTrigger } from '../appFunctions.ts';
import type { TypedData } from '../coreTypes.ts';
import type { Invoker } from '../invoker.ts';
import type { WorkerProcess } from '../worker/workerProcess.ts';
import { answerEmpty, maxBodyBytes } from './httpMessage.ts';

/** Milliseconds without a byte in either direction after which the host gives a forwarded request up. */
const silenceMs = 240_000;
const ofOneConnection = /^(connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|host)$/i;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  params: Record<string, string>;
}

interface StreamingFunction {
  fn: AppFunction<HttpTrigger>;
  invoker: Invoker;
  process: WorkerProcess;
  /** The address of that process. */
  forwardTo: URL;
}

/**
 * Runs an HTTP function of an app that has turned streams on (`enableHttpStream`): the request goes to the HTTP server that
 * `@azure/functions` has opened, with the invocation's id in a header, and the function gets its input and sends its
 * output there. Only headers and route parameters travel with the invocation. As on the real host, nobody answers for a
 * function that throws or returns nothing (https://github.com/Azure/azure-functions-nodejs-library/issues/324), and an
 * invocation whose caller leaves before its request is forwarded never ends.
 */
export async function answerWithStream(
  { fn, invoker, process, forwardTo }: StreamingFunction,
  { request, response, url, params }: Exchange,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes()) {
    response.setHeader('connection', 'close');
    answerEmpty(response, 413);
    return;
  }
  const invocationId = randomUUID();
  const forwarded = passOn(forwardTo, { request, response, url }, invocationId);
  const invoked = invoker.invoke(fn, {
    invocationId,
    process,
    data: { http: {} },
    triggerMetadata: metadataOf(request, params),
    traceparent: request.headers.traceparent,
  });
  // The error of the function is in the log.
  await Promise.all([forwarded, invoked.catch(() => undefined)]);
}

async function passOn(
  forwardTo: URL,
  { request, response, url }: Omit<Exchange, 'params'>,
  invocationId: string,
): Promise<void> {
  const outgoing = forward(new URL(url.pathname + url.search, forwardTo), {
    method: request.method,
    headers: {
      // As on the real host, an id that the caller has sent stays: the function then waits for a request that never comes.
      'x-ms-invocation-id': invocationId,
      ...between(request.headers),
      'x-forwarded-host': url.host,
      'x-forwarded-proto': 'http',
    },
  });
  outgoing.setTimeout(silenceMs, () => outgoing.destroy(new Error('nothing came back')));
  response.once('close', () => outgoing.destroy());
  const sent = pipeline(request, atMost(maxBodyBytes()), outgoing).catch(() => undefined);
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
    });
    const headers = between(incoming.headers);
    delete headers['x-ms-invocation-id'];
    response.writeHead(incoming.statusCode ?? 500, headers);
    // Ends the caller's connection if the function's breaks off.
    await pipeline(incoming, response);
  } catch {
    if (!response.headersSent) answerEmpty(response, 502);
  }
  await sent;
}

/** Headers without those that are about one connection only. */
function between(headers: NodeJS.Dict<string | string[]>): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofOneConnection.test(name)));
}

function atMost(bytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > bytes) done(new Error(`a body of more than ${bytes} bytes`));
      else done(null, chunk);
    },
  });
}

function metadataOf(request: IncomingMessage, params: Record<string, string>): Record<string, TypedData> {
  const headers = Object.entries(request.headersDistinct).map(([name, values]) => [
    name,
    (values ?? []).join(', '),
  ]);
  return {
    ...Object.fromEntries(Object.entries(params).map(([name, value]) => [name, { string: value }])),
    Headers: { json: JSON.stringify(Object.fromEntries(headers)) },
  };
}
