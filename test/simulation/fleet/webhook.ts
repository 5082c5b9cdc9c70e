/** Delivers the events of the provider to the fleet, signed, until a host takes them: at least once, and in no order. */
import { createHmac } from 'node:crypto';
import type { EventRequest } from '../../../src/after/receiveEvent.ts';
import type { EventHint } from '../../../src/paying/paymentProvider.ts';
import type { SeededRandom } from '../../support/seededRandom.ts';
import type { Timeline } from '../engine/machine.ts';
import type { LedgerEvent } from '../world/ledger.ts';

export const webhookSecret = 'whsec_simulation';

/** The provider gives up after three days (https://docs.stripe.com/webhooks#behaviors). */
const mostTries = 20;
const longestDelayMs = 6 * 3_600_000;
/** A try without an answer has failed by then. */
const patienceMs = 30_000;

const types = {
  succeeded: 'payment_intent.succeeded',
  failed: 'payment_intent.payment_failed',
  alive: 'payment_intent.processing',
  reversed: 'refund.updated',
} as const satisfies Record<EventHint, string>;

export function createWebhook(
  timeline: Timeline,
  {
    random,
    isLost,
    post,
  }: {
    random: SeededRandom;
    /** The event is never delivered. */
    isLost: () => boolean;
    /** Hands a request to a host. False: there is none. `answered`: with whether it was taken. */
    post: (request: EventRequest, answered: (taken: boolean) => void) => boolean;
  },
): { deliver(event: LedgerEvent): void } {
  return {
    deliver(event) {
      if (!isLost()) later(random.between(20, 3_000), () => attempt(event, 1));
    },
  };

  function later(ms: number, run: () => void): void {
    timeline.events.add(timeline.now + ms, () => {
      timeline.running = undefined;
      run();
    });
  }

  function attempt(event: LedgerEvent, tries: number): void {
    let isOver = false;
    const failed = () => {
      if (isOver) return;
      isOver = true;
      if (tries < mostTries)
        later(Math.min(5_000 * 2 ** tries, longestDelayMs), () => attempt(event, tries + 1));
    };
    later(patienceMs, failed);
    const isPosted = post(requestOf(event, timeline.now), (taken) => {
      if (taken) isOver = true;
      else failed();
    });
    if (!isPosted) failed();
  }
}

function requestOf({ eventId, hint, paymentId, invoiceId }: LedgerEvent, now: number): EventRequest {
  const metadata = invoiceId === undefined ? {} : { invoiceId };
  const object = hint === 'reversed' ? { payment_intent: paymentId, metadata } : { id: paymentId, metadata };
  const body = JSON.stringify({ id: eventId, type: types[hint], data: { object } });
  const seconds = Math.floor(now / 1000);
  const signed = createHmac('sha256', webhookSecret).update(`${seconds}.${body}`).digest('hex');
  const signature = `t=${seconds},v1=${signed}`;
  return {
    headers: { get: (name) => (name.toLowerCase() === 'stripe-signature' ? signature : null) },
    body: inOnePart(body),
  };
}

async function* inOnePart(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
