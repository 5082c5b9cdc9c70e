import Stripe from 'stripe';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Payments, startPayments } from '../../local/stripe/index.ts';
import { createProcessWorkItem } from '../../packages/jobs/src/workItems/processWorkItem.ts';
import { defineStage, itemsOf, workItemSchema } from '../../packages/jobs/src/workItems/workItem.ts';
import { cosmosEventCursor } from '../../src/after/cosmosEventCursor.ts';
import { eventInput } from '../../src/after/eventStage.ts';
import { createReadEventList, type EventCursor, type EventListParts } from '../../src/after/readEventList.ts';
import { eventIntake } from '../../src/after/receiveEvent.ts';
import { eventStage } from '../../src/invoice/followUps.ts';
import { noTurn, type EventQuery, type ProviderEvents } from '../../src/paying/paymentProvider.ts';
import { metric } from '../../src/platform/appMetrics.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeEvents } from '../../src/stripe/stripeEvents.ts';
import { memoryEffects } from '../memory/memoryEffects.ts';
import { anInstance } from '../support/anInstance.ts';
import { isFull } from '../support/onlyInFull.ts';
import { hour, minute } from '../support/payingWorld.ts';
import { payonceCosmos } from '../support/payonceCosmos.ts';
import { recordedTelemetry } from '../support/recordedTelemetry.ts';
import { type VirtualClock, virtualClock } from '../support/virtualClock.ts';
import { virtualLocks } from '../support/virtualLocks.ts';

const turn = { answered() {}, refused() {}, unused() {} };
const held = { assertHeld() {} };
const never = new AbortController().signal;
const start = Date.parse('2026-05-01T12:00:00Z');

let payments: Payments;
let clock: VirtualClock;
let options: { secretKey: string; apiBase: string; timeoutMs: number };
beforeEach(async () => {
  clock = virtualClock(start);
  payments = await startPayments({ clock });
  options = { secretKey: payments.secretKey, apiBase: payments.baseUrl, timeoutMs: 10_000 };
  return () => payments.stop();
});

async function pay(count: number, invoiceId = 'inv-1'): Promise<string[]> {
  const stripe = stripeClient(options);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await stripe.paymentIntents.create({
      amount: 1_000,
      currency: 'usd',
      customer: 'cus_1',
      payment_method: 'pm_card_visa',
      allowed_payment_method_types: ['card'],
      off_session: true,
      confirm: true,
      metadata: invoiceId === '' ? {} : { invoiceId },
    });
    ids.push(id);
  }
  return ids;
}

function memoryCursor(at?: number): EventCursor & { at: number | undefined } {
  return {
    at,
    async read() {
      return this.at;
    },
    async advance(from, to) {
      if (this.at === from) this.at = to;
    },
  };
}

/** A reader, the payments whose events it has queued, and the lists it has asked for. */
function reader(changes: Partial<EventListParts> = {}) {
  const queued: string[] = [];
  const asked: EventQuery[] = [];
  const real = changes.events ?? stripeEvents(options);
  const cursor = memoryCursor();
  const events: ProviderEvents = {
    list(query) {
      asked.push(query);
      return real.list(query);
    },
  };
  const read = createReadEventList({
    cursor,
    async send(text) {
      const message: unknown = JSON.parse(text);
      for (const item of itemsOf(message) ?? [message]) queued.push(workItemSchema.parse(item).resourceId);
    },
    pacer: { turn: async () => turn },
    instance: anInstance({ clock }),
    ...changes,
    events,
  });
  return { tick: () => read(held, never), queued, asked, cursor };
}

describe('the list of events', () => {
  test('is read from 30 days ago at first, then on from the last event: one call a tick if nothing happened', async () => {
    const { tick, queued, asked, cursor } = reader();
    const ids = await pay(3);
    await pay(2, '');
    expect(await tick()).toEqual({ queued: 3 });
    expect(queued).toEqual(ids);
    expect(asked[0]?.from).toBe(start / 1000 - 30 * 86_400);
    expect(cursor.at).toBe(start / 1000);

    asked.length = 0;
    await clock.advance(30_000);
    expect(await tick()).toEqual({ queued: 0 });
    const [later] = await pay(1, 'inv-2');
    await clock.advance(30_000);
    expect(await tick()).toEqual({ queued: 1 });
    expect(queued).toEqual([...ids, later]);
    expect(asked).toEqual([{ from: start / 1000 - 120 }, { from: start / 1000 - 120 }]);
  });

  test('is not asked for if payments were paused while the tick waited for its lock and its cursor', async () => {
    let paused = false;
    const cursor = memoryCursor();
    const slow: EventCursor = {
      ...cursor,
      async read() {
        paused = true;
        return cursor.read();
      },
    };
    const { tick, asked } = reader({
      cursor: slow,
      pacer: { turn: async () => (paused ? undefined : turn) },
    });
    expect(await tick()).toEqual({ queued: 0, notListed: noTurn });
    expect(asked).toEqual([]);
  });

  test('has many pages: each event is queued once, oldest first', async () => {
    const { tick, queued } = reader();
    const ids = await pay(230);
    expect(await tick()).toEqual({ queued: 230 });
    expect(queued).toEqual(ids);
    expect(await tick()).toEqual({ queued: 0 });
  });

  test('is read with one call after a pause of weeks in which little happened, up to the 30 days that Stripe keeps', async () => {
    const { tick, asked } = reader({ cursor: memoryCursor(start / 1000 - 90 * 86_400) });
    await clock.advance(hour);
    await pay(1);
    expect(await tick()).toEqual({ queued: 1 });
    expect(asked).toEqual([{ from: start / 1000 + 3_600 - 30 * 86_400 }]);
  });

  test('is read in parts if there is more than a page: each ends before the newest event, only the last has no end', async () => {
    const cursor = memoryCursor(start / 1000);
    const { tick, queued, asked } = reader({ cursor });
    const ids = await pay(60);
    await clock.advance(10 * hour);
    ids.push(...(await pay(60, 'later')));
    expect(await tick()).toEqual({ queued: 120 });
    expect(queued).toEqual(ids);
    expect(cursor.at).toBe(start / 1000 + 36_000);
    const [whole, ...parts] = asked;
    expect(whole).toEqual({ from: start / 1000 - 120 });
    expect(parts.length).toBe(10);
    for (const [n, query] of parts.entries()) {
      expect(query.until ?? 0).toBeLessThan(start / 1000 + 36_000);
      const before = parts[n - 1];
      if (before !== undefined) expect(query.from).toBe((before.until ?? 0) - 120);
    }
    expect(parts.at(-1)).not.toHaveProperty('until');
  });

  test.each([-3 * hour, 3 * hour, ...(isFull ? [-10 * minute, 10 * minute] : [])])(
    'loses nothing if our clock is %d ms ahead of the provider’s',
    async (ms) => {
      const skewed = { ...clock, now: () => clock.now() + ms };
      const { tick, queued } = reader({ instance: anInstance({ clock: skewed }) });
      await tick();
      const ids = await pay(1);
      await clock.advance(minute);
      ids.push(...(await pay(120, 'many')));
      await tick();
      expect(queued).toEqual(ids);
    },
  );

  test.each([
    ['the provider refuses the key', { kind: 'unknown', message: '401' }],
    ['the provider has had too many calls', { kind: 'rateLimited', overRate: true, message: '429' }],
  ] as const)('is read later if %s: the cursor stays, and it is counted', async (_, answer) => {
    const cursor = memoryCursor(start / 1000);
    const telemetry = recordedTelemetry();
    const instance = anInstance({ clock, telemetry });
    const { tick } = reader({ cursor, instance, events: { list: async () => answer } });
    expect(await tick()).toEqual({ queued: 0, notListed: answer.message });
    expect(cursor.at).toBe(start / 1000);
    expect(telemetry.reports).toContainEqual(
      expect.objectContaining({ name: metric.paymentEvent, attributes: { outcome: 'notListed' } }),
    );
  });

  test('stays unread while the queue takes nothing', async () => {
    const cursor = memoryCursor(start / 1000);
    const ids = await pay(2);
    const failing = reader({ cursor, send: () => Promise.reject(new Error('away')) });
    expect(await failing.tick()).toEqual({ queued: 0, notListed: 'away' });
    const { tick, queued } = reader({ cursor });
    await tick();
    expect(queued).toEqual(ids);
  });

  test('a wrong key is an answer, not an error', async () => {
    const events = stripeEvents({ ...options, secretKey: 'sk_test_wrong' });
    expect(await events.list({ from: 0 })).toMatchObject({ kind: 'unknown' });
  });
});

describe('beside a webhook', () => {
  /** The app with a webhook: what it delivers and what the list brings go to one queue, and each event has one effect. */
  async function withWebhook(changes: { cursor?: EventCursor; secrets?: string[] } = {}) {
    const secret = 'whsec_test';
    const telemetry = recordedTelemetry();
    const effects = memoryEffects();
    const queue: unknown[] = [];
    const looks: EventQuery[] = [];
    const real = stripeEvents(options);
    const instance = anInstance({ clock, telemetry });
    const intake = eventIntake({
      webhookSecrets: changes.secrets ?? [secret],
      events: {
        list(query) {
          looks.push(query);
          return real.list(query);
        },
      },
      effects,
      cursor: changes.cursor ?? memoryCursor(),
      send: async (text) => void queue.push(JSON.parse(text)),
      pacer: { turn: async () => turn },
      instance,
    });
    const handled: string[] = [];
    const stage = defineStage({
      name: eventStage,
      lease: false,
      input: eventInput,
      async handle(_, { resourceId }) {
        handled.push(resourceId);
        return { result: 'recorded' };
      },
    });
    const { locks } = virtualLocks();
    const process = createProcessWorkItem({
      stages: [stage],
      effects,
      locks,
      sendAgain: async () => {},
      instance,
    });
    return {
      looks,
      handled,
      telemetry,
      tick: () => intake.readList(held, never),
      /** Does what is in the queue. */
      work: async () => {
        for (const message of queue.splice(0)) await process(message);
      },
      /** The webhook delivers every event of a payment. */
      deliver: async (paymentId: string) => {
        const { data } = await stripeClient(options).events.list({ limit: 100 });
        for (const event of data.filter((one) => JSON.stringify(one).includes(paymentId))) {
          const body = JSON.stringify(event);
          const timestamp = Math.floor(clock.now() / 1000);
          const signature = Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
          const bytes = Buffer.from(body);
          const answer = await intake.receive({
            headers: { get: (name) => (name === 'stripe-signature' ? signature : null) },
            body: new Blob([bytes]).stream() as never,
          });
          expect(answer.status).toBe(200);
        }
      },
    };
  }

  test('without a secret there is no webhook: the list is read at every tick', async () => {
    const { looks, tick } = await withWebhook({ secrets: [] });
    for (let ticks = 0; ticks < 3; ticks++) await tick();
    expect(looks).toHaveLength(3);
  });

  test('the list brings once an hour what did not arrive; what both bring has one effect', async () => {
    const { looks, handled, telemetry, tick, work, deliver } = await withWebhook();
    await tick();
    const [arrives = '', lost = ''] = await pay(2);
    await deliver(arrives);
    await work();
    expect(handled).toEqual([arrives]);
    await clock.advance(30 * minute);
    expect(await tick()).toEqual({ queued: 0 });
    expect(looks).toHaveLength(1);
    await clock.advance(31 * minute);
    expect(await tick()).toEqual({ queued: 1 });
    await work();
    expect(handled).toEqual([arrives, lost]);
    expect(telemetry.reports).toContainEqual({
      name: metric.paymentEvent,
      value: 1,
      attributes: { outcome: 'missed' },
    });
    await deliver(lost);
    await work();
    expect(handled).toEqual([arrives, lost]);
    await clock.advance(hour);
    expect(await tick()).toEqual({ queued: 0 });
    expect(looks).toHaveLength(3);
  });

  test('an event of the last ten minutes is left to the webhook; one of days ago is found, as far as Stripe keeps it', async () => {
    const { handled, tick, work } = await withWebhook();
    const [old = ''] = await pay(1);
    await clock.advance(20 * 24 * hour);
    const [young = ''] = await pay(1);
    expect(await tick()).toEqual({ queued: 1 });
    await work();
    expect(handled).toEqual([old]);
    await clock.advance(hour);
    await tick();
    await work();
    expect(handled).toEqual([old, young]);
  });

  test('a process that begins anew goes on from the cursor that is kept', async () => {
    const cursor = memoryCursor();
    const first = await withWebhook({ cursor });
    await pay(1);
    await clock.advance(hour);
    expect(await first.tick()).toEqual({ queued: 1 });
    const second = await withWebhook({ cursor });
    await second.tick();
    expect(second.looks[0]?.from).toBe(start / 1000 - 120);
  });

  test.each([-3 * hour, 3 * hour])(
    'loses nothing if our clock is %d ms ahead of the provider’s',
    async (ms) => {
      const skewed = { ...clock, now: () => clock.now() + ms };
      const isDone = async () => false;
      const { tick, queued } = reader({ instance: anInstance({ clock: skewed }), isDone });
      await tick();
      const ids = await pay(1);
      await clock.advance(8 * hour);
      await tick();
      expect(queued).toEqual(ids);
    },
  );

  test('loses nothing of a backlog if our clock is an hour ahead of the provider’s', async () => {
    const skewed = { ...clock, now: () => clock.now() + hour };
    const cursor = memoryCursor(start / 1000 - 600);
    const isDone = async () => false;
    const { tick, queued } = reader({ instance: anInstance({ clock: skewed }), isDone, cursor });
    const backlog = await pay(120);
    await clock.advance(20 * minute);
    await tick();
    const after = await pay(1);
    await clock.advance(8 * hour);
    await tick();
    expect(queued).toEqual([...backlog, ...after]);
  });
});

describe('the cursor in Cosmos DB', () => {
  let cosmos: Awaited<ReturnType<typeof payonceCosmos>>;
  beforeAll(async () => {
    cosmos = await payonceCosmos();
  });
  afterAll(() => cosmos[Symbol.asyncDispose]());

  test('moves on from where it was read, and from nowhere else', async () => {
    const cursor = cosmosEventCursor(cosmos.containers.pace);
    expect(await cursor.read()).toBeUndefined();
    await cursor.advance(undefined, 100);
    await cursor.advance(undefined, 50);
    expect(await cursor.read()).toBe(100);
    await cursor.advance(99, 10);
    expect(await cursor.read()).toBe(100);
    await cursor.advance(100, 200);
    expect(await cursor.read()).toBe(200);
  });
});
