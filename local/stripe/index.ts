import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../packages/leases/src/clock.ts';
import { createAlarm } from './alarm.ts';
import { createApi } from './api.ts';
import { createCharging } from './charging.ts';
import { createCustomers } from './customers.ts';
import { createDispatch } from './dispatch.ts';
import { createDisputes } from './disputes.ts';
import { createRecordEvent } from './events.ts';
import { createFaults } from './faults.ts';
import { createIdempotency } from './idempotency.ts';
import { createLatency } from './latency.ts';
import { createLocalEndpoints } from './localEndpoints.ts';
import { createLocalTime } from './localTime.ts';
import { createOutcomes } from './outcomes.ts';
import { createPaymentIntents } from './paymentIntents.ts';
import { createRateLimits } from './rateLimits.ts';
import { createReads } from './reads.ts';
import { createRefunds } from './refunds.ts';
import { createPaymentsServer } from './server.ts';
import { createStats } from './stats.ts';
import { openStore } from './store/index.ts';
import { createWebhook, type WebhookTarget } from './webhook.ts';

export type { LedgerRow as Charge } from './store/ledger.ts';

export interface PaymentsOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Folder for the data. Absent: in memory. */
  data?: string;
  /**
   * Delay until the search shows a change to a payment intent (ms). Stripe says usually under a minute
   * (https://docs.stripe.com/search#data-freshness). Absent: always a minute.
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
  /** Drives outcomes, key expiry, search lag, rate limits, latency and delays. Absent: the system clock. */
  clock?: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  /** Where events are delivered, and the secret that signs them. Absent: as it was set last; at first nowhere. */
  webhook?: WebhookTarget;
  /** The id of the Stripe account. Absent: `acct_local`. */
  account?: string;
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
  webhook: target,
  account = 'acct_local',
}: PaymentsOptions = {}): Promise<Payments> {
  const closed = new AbortController();
  const sleep = (ms: number, signal?: AbortSignal) =>
    clock.sleep(ms, signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]));
  const store = openStore(data);
  const time = createLocalTime(() => clock.now(), store);
  const { now } = time;
  const webhook = createWebhook({ store, now, signingNow: () => clock.now(), sleep });
  if (target !== undefined) webhook.setTarget(target);
  const record = createRecordEvent(store, () => webhook.target() !== null);
  const disputes = createDisputes(store, record);
  const charging = createCharging(store, record, disputes.open);
  const refunds = createRefunds(store, record);
  const outcomes = createOutcomes(store, { now, charging, refunds });
  const alarm = createAlarm({ now, sleep, nextAt: outcomes.nextAt, ring: settle });
  const faults = createFaults();
  const stats = createStats();

  /** Settles what is due, and sends what came of it. */
  function settle(): void {
    outcomes.settle();
    changed();
  }
  function changed(): void {
    alarm.set();
    webhook.kick();
  }
  function advance(ms: number): void {
    time.advance(ms);
    outcomes.settle();
    alarm.reset();
    webhook.clockMoved();
  }

  const api = createApi({
    secretKey,
    store,
    now,
    dispatch: createDispatch({
      intents: createPaymentIntents({ store, record, charging, searchLagMs }),
      refunds,
      customers: createCustomers(store),
      reads: createReads(store, account),
    }),
    idempotency: createIdempotency(store, now),
    rateLimits: createRateLimits({ rate, searchRate, accountRate }, () => clock.monotonic()),
    latency: createLatency(latencyMs, random),
    faults,
    stats,
    sleep,
    settle,
    changed,
  });
  const local = createLocalEndpoints({
    store,
    faults,
    stats,
    disputes,
    webhook,
    now,
    advance,
    settle,
    changed,
  });
  const server = createPaymentsServer({ api, local });
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  settle();
  const { port } = server.address() as AddressInfo;

  async function close(): Promise<void> {
    const ended = once(server, 'close');
    server.close();
    alarm.stop();
    closed.abort();
    server.closeAllConnections();
    await Promise.all([ended, webhook.stop()]);
    store.close();
  }
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= close());
  return { baseUrl: `http://127.0.0.1:${port}`, secretKey, port, stop, [Symbol.asyncDispose]: stop };
}
