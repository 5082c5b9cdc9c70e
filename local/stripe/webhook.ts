import Stripe from 'stripe';
import { z } from 'zod';
import { createAlarm } from './alarm.ts';
import { days } from './days.ts';
import { eventText } from './eventList.ts';
import type { Delivery } from './store/deliveries.ts';
import type { Store } from './store/index.ts';

/** Where events are delivered. Null: nowhere. */
export const webhookTarget = z.strictObject({ url: z.url(), secret: z.string().min(1) }).nullable();
export type WebhookTarget = z.infer<typeof webhookTarget>;

/**
 * Stripe waits longer and longer, and gives up after three days
 * (https://docs.stripe.com/webhooks#behaviors). The delays are this server's own.
 */
const firstDelayMs = 1000;
const longestDelayMs = 5 * 60_000;
const givesUpAfterMs = days(3);
/** Time after which a try times out (ms). */
const timeoutMs = 10_000;
/** Deliveries at the same time. Stripe does not keep the order either. */
const atOnce = 8;

export interface WebhookParts {
  store: Store;
  /** This server's time. */
  now: () => number;
  /** The time to sign with: the receiver knows nothing of an advanced clock. */
  signingNow: () => number;
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export type Webhook = ReturnType<typeof createWebhook>;

/** Delivers events, signed as Stripe does (https://docs.stripe.com/webhooks#verify-manually), at least once. */
export function createWebhook({ store, now, signingNow, sleep }: WebhookParts) {
  const { deliveries, settings } = store;
  const stored = settings.get('webhook');
  let target: WebhookTarget = stored === undefined ? null : webhookTarget.parse(JSON.parse(stored));
  const stopping = new AbortController();
  const inFlight = new Map<number, Promise<void>>();
  const alarm = createAlarm({ now, sleep, nextAt, ring: kick });

  /** When the first delivery that is not in flight is due. */
  function nextAt(): number | undefined {
    if (target === null || inFlight.size >= atOnce) return undefined;
    return deliveries.first(atOnce + 1).find(({ number }) => !inFlight.has(number))?.at;
  }

  /** Starts what is due. To be called after events are recorded. */
  function kick(): void {
    if (target === null || stopping.signal.aborted) return;
    for (const delivery of deliveries.first(atOnce + inFlight.size)) {
      if (inFlight.size >= atOnce || delivery.at > now()) break;
      if (!inFlight.has(delivery.number)) start(delivery, target);
    }
    alarm.set();
  }

  function start(delivery: Delivery, to: NonNullable<WebhookTarget>): void {
    const done = deliver(delivery, to).finally(() => {
      inFlight.delete(delivery.number);
      kick();
    });
    inFlight.set(delivery.number, done);
  }

  async function deliver(delivery: Delivery, to: NonNullable<WebhookTarget>): Promise<void> {
    const event = store.events.numbered(delivery.number);
    const delivered = event === undefined || (await post(eventText(store, event), to));
    if (stopping.signal.aborted) return;
    const failures = delivery.failures + 1;
    const at = now() + Math.min(firstDelayMs * 2 ** delivery.failures, longestDelayMs);
    const expired = event !== undefined && at > event.created * 1000 + givesUpAfterMs;
    if (delivered || expired || target === null) deliveries.remove(delivery.number);
    else deliveries.put({ number: delivery.number, at, failures });
  }

  /** Sends the event once; true if the receiver answered with success. */
  async function post(payload: string, { url, secret }: NonNullable<WebhookTarget>): Promise<boolean> {
    const timestamp = Math.floor(signingNow() / 1000);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
        body: payload,
        redirect: 'manual',
        signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      // Whatever it is, the receiver has not taken the event: it is sent again.
      return false;
    }
  }

  return {
    target: (): WebhookTarget => target,
    /** From now on. Deliveries that are not made yet go to the new target, or nowhere. */
    setTarget(to: WebhookTarget): void {
      target = to;
      settings.put('webhook', to === null ? undefined : JSON.stringify(to));
      if (to === null) deliveries.clear();
      kick();
    },
    kick,
    /** After the clock has been moved. */
    clockMoved(): void {
      alarm.reset();
      kick();
    },
    /** Cuts tries short. What is not delivered stays for the next start. */
    async stop(): Promise<void> {
      stopping.abort();
      alarm.stop();
      await Promise.all(inFlight.values());
    },
  };
}
