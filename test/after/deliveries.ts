import Stripe from 'stripe';
import type { SeededRandom } from '../support/seededRandom.ts';

/** An event as the provider lists it: whatever its version, and whatever it is about. */
export interface StormEvent {
  id: string;
  type: string;
  created: number;
  data: { object: Record<string, unknown> };
  [field: string]: unknown;
}

/** A request to the route of events, and how it has to be answered. */
export interface Delivery {
  what: string;
  body: string;
  signature: string | null;
  expected: 200 | 400;
  /** The event that is delivered, if it is a real one: it has to be sent again until it is stored. */
  event?: StormEvent;
}

/** While a secret is replaced, both sign. */
export const stormSecrets = ['whsec_stormOldSecret00000', 'whsec_stormNewSecret00000'] as const;

/** Makes deliveries at `now` (milliseconds): of real events, and of what a hostile or careless sender might send. */
export function stormDeliveries(random: SeededRandom, now: () => number) {
  const secondsNow = () => Math.floor(now() / 1000);
  const sign = (payload: string, changes: { secret?: string; timestamp?: number } = {}) =>
    Stripe.webhooks.generateTestHeaderString({
      payload,
      secret: random.pick(stormSecrets),
      timestamp: secondsNow() - random.between(0, 240),
      ...changes,
    });
  const signed = (what: string, body: string, expected: 200 | 400 = 200): Delivery => ({
    what,
    body,
    signature: sign(body),
    expected,
  });

  return {
    /** The event itself, or as another version of the API has it. */
    real(event: StormEvent): Delivery {
      const version = random.pick([same, same, older, newer]);
      return { ...signed('real', JSON.stringify(version(event))), event };
    },

    /** Nobody's, or somebody else's. */
    stray(known: readonly StormEvent[]): Delivery {
      const event = random.pick(known);
      const body = JSON.stringify(event);
      switch (random.between(0, 9)) {
        case 0:
          return { what: 'unsigned', body, signature: null, expected: 400 };
        case 1: {
          const signature = sign(body, { secret: 'whsec_somebodyElse0000000' });
          return { what: 'wrong secret', body, signature, expected: 400 };
        }
        case 2: {
          const signature = sign(body, { timestamp: secondsNow() - 301 });
          return { what: 'too old', body, signature, expected: 400 };
        }
        case 3:
          return {
            what: 'tampered',
            body: body.replace('"evt_', '"evt_x'),
            signature: sign(body),
            expected: 400,
          };
        case 4: {
          const signature = random.pick([
            '',
            't=1',
            't=,v1=',
            'v1=abc',
            'garbage',
            `t=${secondsNow()},v0=00`,
          ]);
          return { what: 'no signature', body, signature, expected: 400 };
        }
        case 5:
          return signed(
            'not an event',
            random.pick(['{', '[]', 'null', '"x"', '{"type":7}', '{"id":"evt_1"}']),
            400,
          );
        case 6:
          return signed('unknown type', JSON.stringify({ ...event, type: 'customer.updated' }));
        case 7: {
          const object = { id: `pi_foreign${random.between(1, 9)}`, object: 'payment_intent', metadata: {} };
          return signed(
            'not ours',
            JSON.stringify({ ...event, type: 'payment_intent.succeeded', data: { object } }),
          );
        }
        case 8: {
          const object = {
            id: 're_1',
            object: 'refund',
            payment_intent: `pi_foreign${random.between(1, 9)}`,
          };
          const id = `evt_foreign${random.between(1, 99)}`;
          return signed(
            'refund of a stranger',
            JSON.stringify({ id, type: 'refund.updated', data: { object } }),
          );
        }
        default: {
          // Signed, but untrue: as if a secret had leaked.
          const type = random.pick([
            'payment_intent.succeeded',
            'payment_intent.payment_failed',
            'payment_intent.canceled',
            'payment_intent.processing',
          ]);
          const intent = known.filter((one) => one.type.startsWith('payment_intent.'));
          const { data } = random.pick(intent);
          const id = `evt_lie${random.between(1, 1_000_000)}`;
          return signed('a lie', JSON.stringify({ id, object: 'event', type, data }));
        }
      }
    },
  };
}

const same = (event: StormEvent) => event;

/** As an early version had it: fewer fields, and no metadata but an intent's. */
function older(event: StormEvent) {
  const { id, type, data } = event;
  const { object } = data;
  const kept = [
    'id',
    'object',
    'payment_intent',
    ...(type.startsWith('payment_intent.') ? ['metadata'] : []),
  ];
  const fewer = Object.fromEntries(Object.entries(object).filter(([name]) => kept.includes(name)));
  return { id, object: 'event', type, api_version: '2019-02-11', data: { object: fewer } };
}

/** As a later one might have it: objects instead of ids, and fields that nobody knows yet. */
function newer(event: StormEvent) {
  const { object } = event.data;
  const intent = object.payment_intent;
  const expanded =
    typeof intent === 'string' ? { payment_intent: { id: intent, object: 'payment_intent' } } : {};
  return {
    ...event,
    api_version: '2031-01-01.unknown',
    context: { account: null },
    data: { object: { ...object, ...expanded, novelty: [1, { two: 3 }] }, previous_attributes: {} },
  };
}
