import { AsyncLocalStorage } from 'node:async_hooks';
import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import Stripe from 'stripe';

export interface StripeOptions {
  secretKey: string;
  /** `https://api.stripe.com`, or a stand-in. */
  apiBase: string;
  /** Time-out of one call, in milliseconds. */
  timeoutMs: number;
  /** Resolves the host's name. Default: as Node does. */
  lookup?: LookupFunction;
}

/** True if a secret or restricted key moves real money, by its prefix (https://docs.stripe.com/keys). */
export function isLiveKey(key: string): boolean {
  return /^[rs]k_live_/.test(key);
}

/** The signal of the call that a request belongs to. */
const callSignal = new AsyncLocalStorage<AbortSignal>();

/**
 * Makes one call, of as many requests as it needs. After `timeoutMs` milliseconds the request in flight is aborted, whether it
 * resolves a name, connects, waits or reads; each later one fails at once. The outcome is then unknown, whatever `onError` made
 * of that. There is no other time-out.
 */
export async function withTimeOut<T>(
  timeoutMs: number,
  work: () => Promise<T>,
  onError: (error: unknown) => T | Promise<T>,
): Promise<T | { kind: 'unknown'; message: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await callSignal.run(signal, () => work().catch(onError));
  if (!signal.aborted) return answer;
  return { kind: 'unknown', message: `the provider had not answered in full after ${timeoutMs} ms` };
}

/** Stripe's own client, set up to make each request once. A request outside `withTimeOut` has a time-out of its own. */
export function stripeClient({ secretKey, apiBase, timeoutMs: timeout, lookup }: StripeOptions): Stripe {
  const { hostname: host, port, protocol } = new URL(apiBase);
  const secure = protocol === 'https:';
  return new Stripe(secretKey, {
    host,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    protocol: secure ? 'https' : 'http',
    maxNetworkRetries: 0,
    telemetry: false,
    timeout,
    httpClient: Stripe.createFetchHttpClient(fetchInTime(secure, lookup === undefined ? {} : { lookup })),
  });
}

/**
 * A `fetch` that sends a request of Stripe's package under the signal of its call; outside of one, under the package's own. Node's
 * `fetch` has time-outs besides, and the package's clients know none for a call of several requests.
 */
function fetchInTime(secure: boolean, resolving: { lookup?: LookupFunction }): typeof fetch {
  const { Agent, request } = secure ? https : http;
  const agent = new Agent({ ...resolving, keepAlive: true });
  return async (url, { method = 'GET', headers, body, signal: ofRequest } = {}) => {
    const signal = callSignal.getStore() ?? ofRequest ?? undefined;
    const options = { method, headers: Object.fromEntries(new Headers(headers)), agent, signal };
    try {
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        request(url instanceof Request ? url.url : url, options, resolve)
          .on('error', reject)
          .end(body);
      });
      const answered = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      return new Response(await text(response), { status: response.statusCode ?? 0, headers: answered });
    } catch (error) {
      throw isClosed(error) ? new ConnectionClosed(error.message, { cause: error }) : error;
    }
  };
}

/** The connection ended before the answer arrived: the outcome of the call is unknown. */
class ConnectionClosed extends Error {
  override readonly name = 'ConnectionClosed';
  readonly code = 'CONNECTION_CLOSED';
}

/**
 * The package repeats a request whose connection was closed, in spite of `maxNetworkRetries`. Under another name it does not,
 * and the outcome of the call decides.
 */
function isClosed(error: unknown): error is Error {
  const closed: readonly unknown[] = Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES;
  return error instanceof Error && 'code' in error && closed.includes(error.code);
}
