import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The header by which the host says which invocation a request belongs to. */
const invocationHeader = 'x-ms-invocation-id';

/**
 * The HTTP responses of this process while streams are on (`enableHttpStream`). The host then forwards each request to a
 * server inside `@azure/functions`, which keeps the response to itself and, as of 4.16,
 *
 * - writes a body without waiting until the reader has taken what was written: of a large one, all is in memory at the end;
 * - leaves the response open if the body fails: the reader waits, and cannot tell a part from the whole;
 * - does not answer if the function throws (https://github.com/Azure/azure-functions-nodejs-library/issues/324).
 *
 * Node announces each request that a server of the process gets, together with its response
 * (https://nodejs.org/api/diagnostics_channel.html#http).
 */
export function streamedResponses() {
  const responses = new Map<string, ServerResponse>();
  subscribe('http.server.request.start', (message) => {
    if (!isExchange(message)) return;
    const id = message.request.headers[invocationHeader];
    if (typeof id !== 'string') return;
    responses.set(id, message.response);
    message.response.once('close', () => responses.delete(id));
  });

  return {
    /** The chunks, no faster than they are read. If they fail, the connection breaks; if the reader leaves, they end. */
    async *paced(invocationId: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      const response = responses.get(invocationId);
      try {
        for await (const chunk of chunks) {
          if (response?.destroyed === true) return;
          yield chunk;
          if (response?.writableNeedDrain === true) await drainedOrClosed(response);
        }
      } catch (error) {
        response?.destroy();
        throw error;
      }
    },

    /** Answers 500 without a body for a function that threw. */
    fail(invocationId: string): void {
      const response = responses.get(invocationId);
      if (response === undefined || response.headersSent) return;
      response.writeHead(500, { 'content-length': 0 }).end();
    },
  };
}

async function drainedOrClosed(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    done.abort();
  }
}

function isExchange(message: unknown): message is { request: IncomingMessage; response: ServerResponse } {
  return typeof message === 'object' && message !== null && 'request' in message && 'response' in message;
}
