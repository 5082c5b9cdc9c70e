import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { RetryLater, RetryForADay } from '../../packages/jobs/src/workItems/nextTry.ts';
import { systemClock } from '../../packages/leases/src/clock.ts';
import { webhookStage } from '../../src/after/webhook.ts';

let url: string;
let answer = { status: 204, headers: {} as Record<string, string> };
let received: { headers: IncomingHttpHeaders; body: string }[] = [];
const server = createServer((request, response) => {
  void text(request).then((body) => {
    received.push({ headers: request.headers, body });
    response.writeHead(answer.status, answer.headers).end();
  });
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answer = { status: 204, headers: {} };
  received = [];
});

const key = Buffer.from('a key of twenty-four bytes');
const secret = `whsec_${key.toString('base64')}`;
const input = {
  type: 'invoice.paid',
  at: '2026-01-01T00:00:00.000Z',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  paymentId: 'pi_1',
};

function notify(changes: { occasion?: string; assertHeld?: () => void; secret?: string } = {}) {
  const stage = webhookStage({ url, secret: changes.secret ?? secret }, { clock: systemClock });
  const { occasion = 'batch-1', assertHeld = () => {} } = changes;
  return stage.run(input, {
    resourceId: 'inv-1',
    occasion,
    assertHeld,
    signal: new AbortController().signal,
  });
}

test('the webhook receives the event, signed over id, time and body', async () => {
  expect(await notify()).toMatchObject({ status: 204 });
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  const { type, at, ...data } = input;
  expect(JSON.parse(body)).toEqual({ type, timestamp: at, data: { invoiceId: 'inv-1', ...data } });
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${expected}`);
  expect(headers['idempotency-key']).toBe(headers['webhook-id']);
});

test('the same event has the same id at every try, and another event has another id', async () => {
  for (const occasion of ['batch-1', 'batch-1', 'batch-2']) await notify({ occasion });
  const [first, again, other] = received.map(({ headers }) => headers['webhook-id']);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
});

test('the key of a secret without the prefix is its bytes', async () => {
  await notify({ secret: 'plain words as the secret' });
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = createHmac('sha256', 'plain words as the secret').update(signed).digest('base64');
  expect(headers['webhook-signature']).toBe(`v1,${expected}`);
});

test.each([400, 409, 410, 413, 415, 422])(
  'an answer of %i refuses this notification: it is sent again for a day',
  async (status) => {
    answer = { status, headers: {} };
    await expect(notify()).rejects.toThrow(RetryForADay);
  },
);

test.each([401, 403, 404, 408, 429, 500, 503])(
  'an answer of %i would meet any notification: the webhook is told again for as long as it takes',
  async (status) => {
    answer = { status, headers: {} };
    await expect(notify()).rejects.toThrow(RetryLater);
  },
);

test('an unreachable receiver is a failure that says why', async () => {
  const stage = webhookStage({ url: 'http://127.0.0.1:1/', secret }, { clock: systemClock });
  const { signal } = new AbortController();
  const failure = await stage
    .run(input, { resourceId: 'inv-1', assertHeld() {}, signal })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryLater);
  expect((failure as Error).message).toMatch(/cannot be reached: .*(ECONNREFUSED|bad port)/);
});

test('a lease lost during the call is not a failure of the receiver', async () => {
  const lease = new AbortController();
  const hanging: typeof fetch = (_url, request) =>
    new Promise((_resolve, reject) =>
      request?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  const stage = webhookStage({ url, secret }, { clock: systemClock, send: hanging });
  const told = stage.run(input, { resourceId: 'inv-1', assertHeld() {}, signal: lease.signal });
  lease.abort(new Error('lost'));
  await expect(told).rejects.toThrow('lost');
});

test('redirects are not followed: a signed body goes only to the configured address', async () => {
  answer = { status: 302, headers: { location: `${url}/elsewhere` } };
  await expect(notify()).rejects.toThrow();
  expect(received).toHaveLength(1);
});

test('nothing is sent once the lease is lost', async () => {
  const lost = () => {
    throw new Error('lost');
  };
  await expect(notify({ assertHeld: lost })).rejects.toThrow('lost');
  expect(received).toEqual([]);
});
