import { describe, expect, test } from 'vitest';
import { readStripeEvent } from '../../src/stripe/stripeEvents.ts';

const read = (type: string, object: object) => readStripeEvent({ id: 'evt_1', type, data: { object } });
const intent = { id: 'pi_1', metadata: { invoiceId: 'inv-1' } };

describe('an event of Stripe', () => {
  test.each([
    ['payment_intent.succeeded', 'succeeded'],
    ['payment_intent.payment_failed', 'failed'],
    ['payment_intent.canceled', 'failed'],
    ['payment_intent.processing', 'alive'],
    ['payment_intent.amount_capturable_updated', 'alive'],
  ])('%s says that its payment has %s', (type, hint) => {
    const event = { eventId: 'evt_1', hint, paymentId: 'pi_1', invoiceId: 'inv-1' };
    expect(read(type, intent)).toEqual({ kind: 'event', event });
    expect(read(type, { id: 'pi_1', metadata: null })).toEqual({ kind: 'irrelevant' });
  });

  test.each([
    'charge.refunded',
    'charge.refund.updated',
    'refund.updated',
    'refund.failed',
    'charge.dispute.created',
    'charge.dispute.closed',
    'charge.dispute.funds_withdrawn',
    'charge.dispute.funds_reinstated',
  ])('%s names its payment, in every version of the API', (type) => {
    const event = { eventId: 'evt_1', hint: 'reversed', paymentId: 'pi_1' };
    expect(read(type, { id: 'x', payment_intent: 'pi_1' })).toEqual({ kind: 'event', event });
    expect(read(type, { payment_intent: { id: 'pi_1', object: 'payment_intent' } })).toEqual({
      kind: 'event',
      event,
    });
    expect(read(type, { charge: { id: 'ch_1', payment_intent: 'pi_1' } })).toEqual({ kind: 'event', event });
    expect(read(type, { charge: 'ch_1', payment_intent: null })).toEqual({ kind: 'irrelevant' });
    const { metadata } = intent;
    expect(read(type, { payment_intent: 'pi_1', metadata })).toMatchObject({ event: { invoiceId: 'inv-1' } });
  });

  test.each([
    'charge.succeeded',
    'invoice.paid',
    'refund.created',
    'toString',
    'v1.billing.meter.no_meter_found',
  ])('%s is of no use, whatever is in it', (type) => {
    expect(readStripeEvent({ type })).toEqual({ kind: 'irrelevant' });
  });

  test.each([
    [
      'an id that Cosmos DB refuses',
      { id: 'evt/1', type: 'payment_intent.succeeded', data: { object: intent } },
    ],
    ['a long id', { id: 'e'.repeat(101), type: 'payment_intent.succeeded', data: { object: intent } }],
    [
      'a payment id that Cosmos DB refuses',
      { id: 'evt_1', type: 'refund.failed', data: { object: { payment_intent: 'a?b' } } },
    ],
    ['no object', { id: 'evt_1', type: 'refund.failed', data: {} }],
    ['no type', { id: 'evt_1' }],
    ['nothing', undefined],
  ])('%s is malformed', (_, value) => {
    expect(readStripeEvent(value)).toEqual({ kind: 'malformed' });
  });
});
