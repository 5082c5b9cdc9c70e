import { type Agent, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import Stripe from 'stripe';
import { bounded, RequestTimedOut } from '../../platform/bounded.ts';
import { systemClock } from '../../platform/clock.ts';

export interface StripeOptions {
  secretKey: string;
  /** `https://api.stripe.com`, or a stand-in. */
  apiBase: string;
  /** Time-out of one call, in milliseconds. */
  timeoutMs: number;
}

/** Whether a secret or restricted key moves real money, by its prefix (https://docs.stripe.com/keys). */
export function isLiveKey(key: string): boolean {
  return /^[rs]k_live_/.test(key);
}

/**
 * Stripe's own client, set up to make each call once.
 *
 * It uses the package's Node client: a charge costs 0.15 ms of processor time with it, and 0.35 ms with its fetch client.
 * That client's time-out begins only once the connection is made, and ends silence only. So the agent has a time-out too:
 * neither an unreachable host nor an endless answer holds a connection for longer.
 */
export function stripeClient({ secretKey, apiBase, timeoutMs }: StripeOptions): Stripe {
  const { hostname: host, port, protocol } = new URL(apiBase);
  const secure = protocol === 'https:';
  const agentOptions = { keepAlive: true, timeout: timeoutMs };
  const agent = boundConnections(
    secure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions),
    timeoutMs,
  );
  return new Stripe(secretKey, {
    host,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    protocol: secure ? 'https' : 'http',
    timeout: timeoutMs,
    maxNetworkRetries: 0,
    telemetry: false,
    httpClient: withoutRetries(Stripe.createNodeHttpClient(agent)),
  });
}

/** The connection ended before the answer arrived: the outcome of the call is unknown. */
class ConnectionClosed extends Error {
  override readonly name = 'ConnectionClosed';
  readonly code = 'CONNECTION_CLOSED';
}

/**
 * The package repeats a call whose connection was closed, in spite of `maxNetworkRetries`. That would double the time-out
 * of a call, so a closed connection is reported under a name that the package does not know.
 */
function withoutRetries(client: Stripe.HttpClient): Stripe.HttpClient {
  const closed: ReadonlySet<unknown> = new Set(Stripe.HttpClient.CONNECTION_CLOSED_ERROR_CODES);
  return {
    getClientName: () => client.getClientName(),
    async makeRequest(...request) {
      try {
        return await client.makeRequest(...request);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && closed.has(error.code))) throw error;
        throw new ConnectionClosed(error.message, { cause: error });
      }
    },
  };
}

/**
 * Makes an agent destroy every connection that one request occupies for longer than `boundMs` milliseconds, from connecting
 * to the end of the answer. A socket's own time-out ends silence only: an answer that trickles in byte by byte would keep
 * its connection for ever.
 *
 * The three methods are those that Node documents for overriding
 * (https://nodejs.org/docs/latest-v24.x/api/http.html#agentcreateconnectionoptions-callback and the two after it).
 */
export function boundConnections<T extends Agent>(agent: T, boundMs: number): T {
  const bounds = new WeakMap<Duplex, NodeJS.Timeout>();
  const begin = (socket: Duplex) => {
    end(socket);
    bounds.set(
      socket,
      setTimeout(() => socket.destroy(new ConnectionTooLong(boundMs)), boundMs),
    );
  };
  const end = (socket: Duplex) => clearTimeout(bounds.get(socket));

  const createConnection = agent.createConnection.bind(agent);
  agent.createConnection = (...options) => {
    const socket = createConnection(...options);
    if (socket) {
      begin(socket);
      socket.once('close', () => end(socket));
    }
    return socket;
  };
  const keepSocketAlive = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    end(socket);
    return keepSocketAlive(socket);
  };
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.reuseSocket = (socket, request) => {
    begin(socket);
    reuseSocket(socket, request);
  };
  return agent;
}

class ConnectionTooLong extends Error {
  override readonly name = 'ConnectionTooLong';
  constructor(boundMs: number) {
    super(`the request was not done after ${boundMs} ms`);
  }
}

/**
 * The answer of `work`, or that the outcome is unknown after `timeoutMs` milliseconds. The signal then aborts, and the answer of
 * late work is dropped.
 */
export async function orLate<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | { kind: 'unknown'; message: string }> {
  try {
    return await bounded(systemClock, timeoutMs, work);
  } catch (error) {
    if (!(error instanceof RequestTimedOut)) throw error;
    return { kind: 'unknown', message: `the provider had not answered in full after ${timeoutMs} ms` };
  }
}

/**
 * Makes a call of Stripe's package without its note of where the call came from. The package writes a whole stack trace for
 * each call, in case it fails: a seventh of the processor time of a charge.
 */
export function withoutCallSite<T>(call: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return call();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
