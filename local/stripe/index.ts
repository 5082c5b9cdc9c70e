import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { createApi } from './api.ts';
import { createFaults } from './faults.ts';
import { createIdempotency } from './idempotency.ts';
import { createLatency } from './latency.ts';
import { createLocalEndpoints } from './localEndpoints.ts';
import { createPaymentIntents } from './paymentIntents.ts';
import { createRateLimits } from './rateLimits.ts';
import { createPaymentsServer } from './server.ts';
import { createStats } from './stats.ts';
import { openStore } from './store.ts';

export type { Charge } from './store.ts';

export interface PaymentsOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Folder for the data. Absent: in memory. */
  data?: string;
  /**
   * How long the search lags behind changes to a payment intent, in milliseconds. Stripe says usually under a
   * minute (https://docs.stripe.com/search#data-freshness). Absent: always a minute.
   */
  searchLagMs?: number;
  /**
   * Calls per second to each endpoint other than search. Beyond it a call gets 429. Stripe's default is 25
   * (https://docs.stripe.com/rate-limits). Absent: no limit.
   */
  rate?: number;
  /** Searches per second. Stripe: 20. Absent: no limit. */
  searchRate?: number;
  /**
   * Calls per second to all endpoints together. Stripe: 25 in a sandbox, 100 in live mode. Absent: no limit.
   */
  accountRate?: number;
  /**
   * Median of the time a call takes, in milliseconds. The charge happens at a random point within it. A call
   * refused before it begins (401, 409, 429) is answered at once. Absent: 0.
   */
  latencyMs?: number;
  /** Draws latencies: numbers from 0 (inclusive) to 1 (exclusive). Absent: Math.random. */
  random?: () => number;
  /** Drives key expiry, search lag, rate limits, latency and delays. Absent: the system clock. */
  clock?: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
}

export interface Payments extends AsyncDisposable {
  /** The value for STRIPE_API_BASE. */
  baseUrl: string;
  /** The value for STRIPE_SECRET_KEY. */
  secretKey: string;
  port: number;
  stop(): Promise<void>;
}

const secretKey = 'sk_test_local';

/** Starts a server on 127.0.0.1 that speaks part of Stripe's API and keeps a ledger of its charges. */
export async function startPayments({
  port: wanted = 0,
  data,
  searchLagMs = 60_000,
  rate,
  searchRate,
  accountRate,
  latencyMs = 0,
  random = Math.random,
  clock = systemClock,
}: PaymentsOptions = {}): Promise<Payments> {
  const { now } = clock;
  const store = openStore(data);
  const faults = createFaults();
  const stats = createStats();
  const closed = new AbortController();
  const api = createApi({
    secretKey,
    store,
    intents: createPaymentIntents(store, { now, searchLagMs }),
    idempotency: createIdempotency(store, now),
    rateLimits: createRateLimits({ rate, searchRate, accountRate }, () => clock.monotonic()),
    latency: createLatency(latencyMs, random),
    faults,
    stats,
    sleep: (ms) => clock.sleep(ms, closed.signal),
  });
  const server = createPaymentsServer({ api, local: createLocalEndpoints(store, faults, stats) });
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function close(): Promise<void> {
    const ended = once(server, 'close');
    server.close();
    closed.abort();
    server.closeAllConnections();
    await ended;
    store.close();
  }
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= close());
  return { baseUrl: `http://127.0.0.1:${port}`, secretKey, port, stop, [Symbol.asyncDispose]: stop };
}
