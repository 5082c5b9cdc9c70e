import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { createReceiveEvent, mostEventBytes } from '../../src/after/receiveEvent.ts';
import { stripeSignedEvents } from '../../src/stripe/stripeEvents.ts';
import { anInstance } from '../support/anInstance.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';

const now = Date.parse('2026-05-01T12:00:00Z');
const secrets = ['whsec_theOldSecret00000', 'whsec_theNewSecret00000'];
const event = {
  id: 'evt_1',
  object: 'event',
  type: 'payment_intent.succeeded',
  data: { object: { id: 'pi_1', metadata: { invoiceId: 'inv-1' } } },
};
const payload = JSON.stringify(event);

function signature(body: string, { secret = secrets[0] ?? '', at = now } = {}): string {
  return Stripe.webhooks.generateTestHeaderString({
    payload: body,
    secret,
    timestamp: Math.floor(at / 1000),
  });
}

function receiver({ configured = secrets, away = false } = {}) {
  const sent: unknown[] = [];
  const logged: string[] = [];
  const telemetry = recordedTelemetry();
  const receive = createReceiveEvent({
    ...(configured.length === 0 ? {} : { read: stripeSignedEvents(configured, () => now) }),
    async send(text) {
      if (away) throw new Error('the queue is away');
      sent.push(JSON.parse(text));
    },
    instance: anInstance({ telemetry, log: (line) => logged.push(line) }),
  });
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    return receive({ headers: new Headers(headers), body: new Blob([Uint8Array.from(bytes)]).stream() });
  };
  const outcomes = () => telemetry.reports.map(({ attributes }) => attributes.outcome);
  return { receive, post, sent, logged, outcomes };
}

describe('payments/events', () => {
  test('stores an event as a work item, and says so', async () => {
    const { post, sent, outcomes } = receiver();
    expect(await post(payload, { 'stripe-signature': signature(payload) })).toMatchObject({ status: 200 });
    expect(sent).toEqual([
      {
        resourceId: 'pi_1',
        stage: 'payment-event',
        occasion: 'evt_1',
        input: { hint: 'succeeded', invoiceId: 'inv-1' },
      },
    ]);
    expect(outcomes()).toEqual(['stored']);
  });

  test('takes each of several secrets, so that one can be replaced', async () => {
    for (const secret of secrets) {
      const { post } = receiver();
      expect(await post(payload, { 'stripe-signature': signature(payload, { secret }) })).toMatchObject({
        status: 200,
      });
    }
  });

  test.each([
    ['without a signature', payload, {}],
    ['with an empty one', payload, { 'stripe-signature': '' }],
    ['with nonsense', payload, { 'stripe-signature': 't=1,v1=x' }],
    [
      'by another secret',
      payload,
      { 'stripe-signature': signature(payload, { secret: 'whsec_other00000000' }) },
    ],
    ['older than five minutes', payload, { 'stripe-signature': signature(payload, { at: now - 301_000 }) }],
    ['of another body', payload.replace('inv-1', 'inv-2'), { 'stripe-signature': signature(payload) }],
    ['of a body with another blank', `${payload} `, { 'stripe-signature': signature(payload) }],
    ['of nothing', '', { 'stripe-signature': signature('') }],
  ])('refuses a body %s, and does not parse it', async (_, body, headers) => {
    const { post, sent, outcomes } = receiver();
    const answer = await post(body, headers);
    expect(answer).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } });
    expect(sent).toEqual([]);
    expect(outcomes()).toEqual(['rejected']);
  });

  test('takes a signature that is five minutes old', async () => {
    const at = now - 300_000;
    const headers = { 'stripe-signature': signature(payload, { at }) };
    expect(await receiver().post(payload, headers)).toMatchObject({ status: 200 });
  });

  test.each(['{', 'null', '[]', '{"type":1}', '{"type":"payment_intent.succeeded"}'])(
    'refuses a signed body that is no event: %s',
    async (body) => {
      const { post, outcomes } = receiver();
      expect(await post(body, { 'stripe-signature': signature(body) })).toMatchObject({ status: 400 });
      expect(outcomes()).toEqual(['malformed']);
    },
  );

  test.each([
    ['of a type that is of no use', { ...event, type: 'customer.updated' }],
    ['of a payment without our metadata', { ...event, data: { object: { id: 'pi_1', metadata: {} } } }],
    [
      'of a charge without a payment intent',
      { ...event, type: 'charge.refunded', data: { object: { id: 'ch_1' } } },
    ],
  ])('drops an event %s, and counts it', async (_, other) => {
    const { post, sent, outcomes } = receiver();
    const body = JSON.stringify(other);
    expect(await post(body, { 'stripe-signature': signature(body) })).toMatchObject({ status: 200 });
    expect(sent).toEqual([]);
    expect(outcomes()).toEqual(['irrelevant']);
  });

  test('looks at no more than its limit', async () => {
    const { post, outcomes } = receiver();
    const long = 'x'.repeat(mostEventBytes + 1);
    expect(await post(long, { 'stripe-signature': signature(long) })).toMatchObject({ status: 413 });
    expect(outcomes()).toEqual(['tooLarge']);
    const padded = payload.padEnd(mostEventBytes);
    expect(await post(padded, { 'stripe-signature': signature(padded) })).toMatchObject({ status: 200 });
  });

  test('is not there without a secret', async () => {
    const { post } = receiver({ configured: [] });
    const headers = { 'stripe-signature': signature(payload) };
    expect(await post(payload, headers)).toMatchObject({ status: 404 });
  });

  test('asks for the event again if the queue does not take it', async () => {
    const { post, logged, outcomes } = receiver({ away: true });
    const headers = { 'stripe-signature': signature(payload) };
    expect(await post(payload, headers)).toMatchObject({ status: 503 });
    expect(outcomes()).toEqual(['notStored']);
    expect(logged).toEqual([expect.stringContaining('the queue is away')]);
  });
});
