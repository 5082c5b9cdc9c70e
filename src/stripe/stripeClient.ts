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
export function stripeClient({ secretKey, apiBase, timeoutMs, lookup }: StripeOptions): Stripe {
  const { hostname: host, port, protocol } = new URL(apiBase);
  const secure = protocol === 'https:';
  return new Stripe(secretKey, {
    host,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    protocol: secure ? 'https' : 'http',
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: httpClient(secure, timeoutMs, lookup === undefined ? {} : { lookup }),
  });
}

/**
 * Sends requests of Stripe's package, each under the signal of its call. The package's own clients know only a time-out that
 * begins late and ends silence only, so that an answer that trickles in would never end.
 */
function httpClient(secure: boolean, timeoutMs: number, options: { lookup?: LookupFunction }) {
  const { Agent, request } = secure ? https : http;
  const agent = new Agent({ ...options, keepAlive: true });
  const client: Stripe.HttpClient = {
    getClientName: () => 'node',
    async makeRequest(host, port, path, method, headers, body) {
      const signal = callSignal.getStore() ?? AbortSignal.timeout(timeoutMs);
      const sent = request({ host, port, path, method, headers, agent });
      const abort = () => void sent.destroy(new Error('the request took too long'));
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort);
      sent.on('close', () => signal.removeEventListener('abort', abort));
      try {
        const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
          sent.on('response', resolve).on('error', reject).end(body);
        });
        const answered = await text(response);
        const { statusCode = 0, headers: given } = response;
        return Object.assign(new Stripe.HttpClientResponse(statusCode, given as Record<string, string>), {
          getRawResponse: () => response,
          toStream: () => response,
          toJSON: async () => JSON.parse(answered) as unknown,
        });
      } catch (error) {
        throw isClosed(error) ? new ConnectionClosed(error.message, { cause: error }) : error;
      }
    },
  };
  return client;
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
