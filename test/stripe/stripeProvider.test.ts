import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { type Charge, startPayments } from '../../local/stripe/index.ts';
import type { ChargeRequest } from '../../src/paying/paymentProvider.ts';
import { stripeClient } from '../../src/stripe/stripeClient.ts';
import { stripeProvider } from '../../src/stripe/stripeProvider.ts';

const payments = await startPayments({ searchLagMs: 0 });
afterAll(() => payments.stop());
const { baseUrl: apiBase, secretKey } = payments;
const provider = stripeProvider({ secretKey, apiBase, timeoutMs: 10_000 });
const impatient = stripeProvider({ secretKey, apiBase, timeoutMs: 150 });

let invoices = 0;
function request(more: Partial<ChargeRequest> = {}): ChargeRequest {
  const invoiceId = more.invoiceId ?? `INV-${++invoices}`;
  return {
    invoiceId,
    amountMinor: 1999,
    currency: 'USD',
    customerId: 'cus_1',
    paymentMethod: 'pm_card_visa',
    idempotencyKey: `invoice-${invoiceId}-1`,
    ...more,
  };
}

async function ledgerOf(invoiceId: string): Promise<Charge[]> {
  const charges = (await (await fetch(`${apiBase}/_local/charges`)).json()) as Charge[];
  return charges.filter((charge) => charge.invoiceId === invoiceId);
}

/** Charges and returns the payment's id. */
async function paid(charge: ChargeRequest): Promise<string> {
  const outcome = await provider.charge(charge);
  if (outcome.kind !== 'succeeded') throw new Error(outcome.kind);
  return outcome.paymentId;
}

async function arm(fault: object): Promise<void> {
  await fetch(`${apiBase}/_local/faults`, { method: 'POST', body: JSON.stringify(fault) });
}

describe('charge', () => {
  test('succeeds, and the ledger has the amount, the currency and the key', async () => {
    const charge = request({ description: 'Invoice 7' });
    const outcome = await provider.charge(charge);
    expect(outcome).toEqual({ kind: 'succeeded', paymentId: expect.stringMatching(/^pi_/) });
    expect(await ledgerOf(charge.invoiceId)).toMatchObject([
      { amount: 1999, currency: 'usd', idempotencyKey: charge.idempotencyKey },
    ]);
  });

  test('a repeat with the same key gives the same payment and one row in the ledger', async () => {
    const charge = request();
    const first = await provider.charge(charge);
    expect(await provider.charge(charge)).toEqual(first);
    expect(await ledgerOf(charge.invoiceId)).toHaveLength(1);
  });

  test('a repeat after the money has gone back says so, and not that it is paid', async () => {
    const charge = request();
    const { invoiceId, amountMinor, currency } = charge;
    const paymentId = await paid(charge);
    const refund = { paymentId, invoiceId, amountMinor, currency, refundId: `rf_${'a'.repeat(43)}` };
    await provider.refund({ ...refund, idempotencyKey: `refund-${invoiceId}` });
    expect(await provider.charge(charge)).toMatchObject({ kind: 'reversed' });
  });

  test('amounts are sent in Stripe’s units, or refused without a call', async () => {
    const whole = request({ currency: 'ISK', amountMinor: 1300 });
    expect((await provider.charge(whole)).kind).toBe('succeeded');
    expect(await ledgerOf(whole.invoiceId)).toMatchObject([{ amount: 130_000, currency: 'isk' }]);
    const fils = request({ currency: 'KWD', amountMinor: 12_345 });
    expect(await provider.charge(fils)).toMatchObject({ kind: 'refused', code: 'amount' });
    expect(await ledgerOf(fils.invoiceId)).toEqual([]);
  });

  test.each([
    ['pm_card_chargeDeclinedInsufficientFunds', 'soft', 'insufficient_funds'],
    ['pm_card_chargeDeclinedProcessingError', 'soft', 'processing_error'],
    ['pm_card_chargeDeclinedExpiredCard', 'hard', 'expired_card'],
    ['pm_card_visa_chargeDeclinedStolenCard', 'hard', 'stolen_card'],
    ['pm_card_authenticationRequired', 'hard', 'authentication_required'],
  ])('%s is a %s decline, %s', async (paymentMethod, severity, code) => {
    const charge = request({ paymentMethod });
    expect(await provider.charge(charge)).toMatchObject({ kind: 'declined', severity, code });
    expect(await ledgerOf(charge.invoiceId)).toEqual([]);
  });

  test.each([
    ['pm_local_timeoutBeforeChargeOnce', 0],
    ['pm_local_timeoutAfterChargeOnce', 1],
    ['pm_local_resetBeforeChargeOnce', 0],
    ['pm_local_resetAfterChargeOnce', 1],
    ['pm_local_serverErrorOnce', 0],
  ])('%s is unknown, with %i charged; the same key then pays once', async (paymentMethod, charged) => {
    const charge = request({ paymentMethod });
    const hasTimeout = paymentMethod.includes('timeout');
    const first = await (hasTimeout ? impatient : provider).charge(charge);
    expect(first.kind).toBe('unknown');
    await expect.poll(() => ledgerOf(charge.invoiceId)).toHaveLength(charged);
    const second = await provider.charge(charge);
    const [row, ...others] = await ledgerOf(charge.invoiceId);
    expect(second).toEqual({ kind: 'succeeded', paymentId: row?.paymentIntent });
    expect(others).toEqual([]);
  });

  test('a 500 after the charge stays unknown under its key, and is found by metadata', async () => {
    const charge = request({ paymentMethod: 'pm_local_serverErrorAfterCharge' });
    expect(await provider.charge(charge)).toEqual({
      kind: 'unknown',
      fault: 'badAnswer',
      message: expect.stringMatching(/^500/),
    });
    expect(await provider.charge(charge)).toMatchObject({ kind: 'unknown', remembered: true });
    const rows = await ledgerOf(charge.invoiceId);
    expect(rows).toHaveLength(1);
    expect(await provider.find(charge)).toEqual({
      kind: 'found',
      paymentId: rows[0]?.paymentIntent,
    });
  });

  test('a rate limit is transient and says how long to wait', async () => {
    const outcome = await provider.charge(request({ paymentMethod: 'pm_local_rateLimitOnce' }));
    expect(outcome).toMatchObject({ kind: 'rateLimited', overRate: true, retryAfterMs: 1000 });
  });

  test('a second call while the first is in flight is unknown', async () => {
    const charge = request();
    await arm({ kind: 'delay', delayMs: 400, filter: { invoiceId: charge.invoiceId } });
    const both = await Promise.all([provider.charge(charge), provider.charge(charge)]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(['succeeded', 'unknown']);
    expect(await ledgerOf(charge.invoiceId)).toHaveLength(1);
  });

  test('the same key with other parameters is `keyReused`', async () => {
    const charge = request();
    await provider.charge(charge);
    expect(await provider.charge({ ...charge, amountMinor: 2000 })).toMatchObject({ kind: 'keyReused' });
    expect(await ledgerOf(charge.invoiceId)).toHaveLength(1);
  });

  test('an unknown payment method is refused', async () => {
    const outcome = await provider.charge(request({ paymentMethod: 'pm_nobody' }));
    expect(outcome).toMatchObject({ kind: 'refused', code: 'resource_missing' });
  });

  test('a wrong secret key is transient and says so, without the key', async () => {
    const stranger = stripeProvider({ secretKey: 'sk_test_other', apiBase, timeoutMs: 10_000 });
    const outcome = await stranger.charge(request());
    expect(outcome).toMatchObject({ kind: 'transient', code: 'authentication' });
    expect(JSON.stringify(outcome)).not.toContain('sk_test');
  });

  test('the SDK does not retry a closed connection by itself', async () => {
    const charge = request();
    await arm({ kind: 'reset-before', count: 2, filter: { invoiceId: charge.invoiceId } });
    for (let n = 0; n < 2; n++) expect((await provider.charge(charge)).kind).toBe('unknown');
    expect((await provider.charge(charge)).kind).toBe('succeeded');
  });
});

describe('a provider that is down or broken', () => {
  test('refused connections: transient', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const gone = stripeProvider({ secretKey, apiBase: `http://127.0.0.1:${port}`, timeoutMs: 10_000 });
    expect(await gone.charge(request())).toMatchObject({ kind: 'transient', code: 'ECONNREFUSED' });
    expect((await gone.find(request())).kind).toBe('unknown');
  });

  test.each([
    ['closes without an answer', (): string => ''],
    ['breaks its answer off', () => 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id":'],
    ['answers no JSON', () => 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n<>'],
    ['answers no HTTP', () => 'hello\r\n\r\n'],
  ])('%s: unknown', async (_, answer) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer()));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const broken = stripeProvider({ secretKey, apiBase: `http://127.0.0.1:${port}`, timeoutMs: 10_000 });
    expect((await broken.charge(request())).kind).toBe('unknown');
    server.close();
  });
});

describe('a provider whose answer never ends', () => {
  const timeoutMs = 200;
  const late = { kind: 'unknown', message: 'the provider had not answered in full after 200 ms' };

  /** Listens and passes each connection to `serve`; `ended` resolves when the first one closes. */
  async function serving(serve: (socket: Socket) => void) {
    const ended = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.on('error', () => undefined).once('close', () => ended.resolve());
      serve(socket);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const endless = stripeProvider({ secretKey, apiBase: `http://127.0.0.1:${port}`, timeoutMs });
    return { endless, ended: ended.promise, [Symbol.dispose]: () => void server.close() };
  }

  /** A byte every 20 ms. */
  function drip(socket: Socket, beginning: string): void {
    socket.write(beginning);
    const dripping = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(dripping));
  }

  test.each([
    ['charge', 'headers', 'HTTP/1.1 200 OK\r\nX-Long: '],
    ['charge', 'body', 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{"id":"'],
    ['find', 'headers', 'HTTP/1.1 200 OK\r\nX-Long: '],
    ['find', 'body', 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{"object":"'],
  ] as const)('%s, with %s that drip: unknown, and the connection is closed', async (call, _, beginning) => {
    using server = await serving((socket) => socket.once('data', () => drip(socket, beginning)));
    expect(await server.endless[call](request())).toEqual(late);
    await server.ended;
  });

  test.each(['charge', 'find', 'account'] as const)(
    '%s, with a socket that swallows everything: unknown, and the connection is closed',
    async (call) => {
      using server = await serving((socket) => void socket.resume());
      expect(await server.endless[call](request())).toEqual(late);
      await server.ended;
    },
  );

  test.each(['charge', 'find', 'account'] as const)(
    '%s, with a name that never resolves: unknown',
    async (call) => {
      let asked = 0;
      const unnamed = stripeProvider({
        secretKey,
        apiBase: 'http://payments.invalid',
        timeoutMs,
        lookup: () => void asked++,
      });
      expect(await unnamed[call](request())).toEqual(late);
      expect(asked).toBe(1);
    },
  );

  test('a call that the time-out has ended leaves the whole time to the next one', async () => {
    let stalled = true;
    using server = await serving((socket) => {
      socket.on('data', () => {
        const answer = '{"id":"acct_1","object":"account"}';
        if (!stalled) socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
        stalled = false;
      });
    });
    expect(await server.endless.account()).toEqual(late);
    expect(await server.endless.account()).toEqual({ kind: 'account', id: 'acct_1', mode: 'test' });
  });

  test('find, with endless pages: unknown, and no more pages are requested', async () => {
    const page = JSON.stringify({
      object: 'search_result',
      data: [{ id: 'pi_1', object: 'payment_intent', amount: 1, currency: 'usd', metadata: {} }],
      has_more: true,
      next_page: 'more',
    });
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${page.length}\r\n\r\n${page}`;
    using server = await serving((socket) => {
      socket.on('data', () => void setTimeout(() => socket.write(answer), 20));
    });
    expect((await server.endless.find(request())).kind).toBe('unknown');
    // The connection is no longer in use.
    await server.ended;
  });
});

test('a declined payment is canceled, so that nobody can confirm it later', async () => {
  const charge = request({ paymentMethod: 'pm_card_chargeDeclined' });
  expect(await provider.charge(charge)).toMatchObject({ kind: 'declined', code: 'generic_decline' });
  const stripe = stripeClient({ secretKey, apiBase, timeoutMs: 10_000 });
  const { data } = await stripe.paymentIntents.list({ limit: 1 });
  expect(data).toMatchObject([{ status: 'canceled', metadata: { invoiceId: charge.invoiceId } }]);
  expect(await provider.charge(charge)).toMatchObject({ kind: 'declined', code: 'generic_decline' });
});

test('a declined payment that could not be canceled: the same key asks again', async () => {
  const charge = request({ paymentMethod: 'pm_card_chargeDeclined' });
  for (const operation of ['cancel', 'retrieve']) await arm({ kind: '500', count: 1, filter: { operation } });
  expect(await provider.charge(charge)).toMatchObject({ kind: 'unknown' });
  expect(await provider.charge(charge)).toMatchObject({ kind: 'declined' });
});

describe('find', () => {
  test('a payment, by an id with any characters in it', async () => {
    for (const invoiceId of [`it's "7" \\ 8`, 'счёт-☕']) {
      const charge = request({ invoiceId, idempotencyKey: crypto.randomUUID() });
      const paymentId = await paid(charge);
      expect(await provider.find(charge)).toEqual({ kind: 'found', paymentId });
    }
  });

  test('never the payment of an id that differs only in case, wherever it stands among many', async () => {
    const invoiceId = `INV-A1-${crypto.randomUUID()}`;
    const others = [invoiceId.toLowerCase(), invoiceId.toUpperCase().replace('INV', 'Inv')];
    const mine = request({ invoiceId });
    const before = await Promise.all(others.map((id) => paid(request({ invoiceId: id }))));
    expect(await provider.find(mine)).toEqual({ kind: 'notFound' });
    const paymentId = await paid(mine);
    // More than one page of newer payments.
    await Promise.all(
      Array.from({ length: 101 }, (_, n) =>
        paid(request({ invoiceId: others[0] ?? '', idempotencyKey: `${invoiceId}-other-${n}` })),
      ),
    );
    expect(before).not.toContain(paymentId);
    expect(await provider.find(mine)).toEqual({ kind: 'found', paymentId });
  });

  test.each([{ amountMinor: 2999 }, { currency: 'EUR' }, { currency: 'KWD', amountMinor: 1999 }])(
    'a payment under the id that does not match %o is `differs`, and the message says what was found',
    async (sought) => {
      const charge = request();
      const paymentId = await paid(charge);
      expect(await provider.find({ ...charge, ...sought })).toEqual({
        kind: 'differs',
        paymentId,
        message: expect.stringContaining(`payment ${paymentId} names this invoice with 1999 USD`),
      });
    },
  );

  test('amounts are compared in Stripe’s units', async () => {
    const charge = request({ currency: 'ISK', amountMinor: 1300 });
    const paymentId = await paid(charge);
    expect(await provider.find(charge)).toEqual({ kind: 'found', paymentId });
  });

  test('nothing if no payment succeeded', async () => {
    const charge = request({ paymentMethod: 'pm_card_chargeDeclined' });
    await provider.charge(charge);
    expect(await provider.find(charge)).toEqual({ kind: 'notFound' });
  });

  test('refused if there are too many', async () => {
    await arm({ kind: '429', filter: { operation: 'search' } });
    expect(await provider.find(request())).toMatchObject({ kind: 'rateLimited', overRate: true });
  });

  test('unknown if the provider cannot say', async () => {
    await arm({ kind: '500', filter: { operation: 'search' } });
    expect((await provider.find(request())).kind).toBe('unknown');
  });
});
