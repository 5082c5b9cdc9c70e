import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shardOf } from '../../src/invoice/shard.ts';
import type { PaymentProvider } from '../../src/paying/paymentProvider.ts';
import { aClaimedInvoice } from '../support/anInvoice.ts';
import { aRequest, bodyOf, type OpsForTests, opsForTests, principal } from '../support/opsForTests.ts';

/** Answers of the provider in a test, by invoice. */
const found = new Map<string, Awaited<ReturnType<PaymentProvider['find']>>>();
const provider: Partial<PaymentProvider> = {
  find: async ({ invoiceId }) => found.get(invoiceId) ?? { kind: 'notFound' },
  cancel: async (id) =>
    id === 'pi_late' ? { kind: 'refused', message: 'the payment is processing' } : { kind: 'canceled' },
};

let ops: OpsForTests;
beforeAll(async () => {
  ops = await opsForTests({ provider });
});
afterAll(() => ops[Symbol.asyncDispose]());

const place = (id: string) => ({ id, shard: shardOf(id, 4) });
const request = (id: string, body?: unknown, method = 'POST') =>
  aRequest({ method, params: { id }, body, headers: principal });
const voiding = (id: string, body: unknown = { reason: 'sent by mistake' }) =>
  ops.api.voidInvoice(request(id, body));
const retrying = (id: string, body: unknown) => ops.api.retryInvoice(request(id, body));
const moving = (id: string, body: unknown) => ops.api.moveDueDate(request(id, body, 'PATCH'));
const auditedOf = async (id: string) =>
  (await ops.audited())
    .filter(({ target }) => target === id)
    .map(({ actor, action, detail }) => ({ actor, action, detail }));

const keyCreatedAt = '2026-01-01T11:00:00.000Z';
const payment = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt, unknownSince: keyCreatedAt };
const parked = (id: string) => ({ ...place(id), status: 'parked' as const, reason: 'unknown', payment });
const inProgress = (id: string, paymentId: string) => ({
  ...place(id),
  status: 'processing' as const,
  payment: {
    keyNumber: 1,
    declines: 0,
    deferrals: 0,
    inProgress: { id: paymentId, state: 'processing', since: keyCreatedAt, checks: 0 },
  },
});
/** Parked a minute ago. */
const parkedJustNow = (id: string) => ({
  ...parked(id),
  timeline: [
    { at: keyCreatedAt, what: 'imported', by: 'a' },
    { at: '2026-01-01T11:59:00.000Z', what: 'parked', by: 'a', batchId: 'b1' },
  ],
});

describe('POST ops/invoices/{id}/void', () => {
  test('an unpaid invoice is voided, and that is audited; asked again, it is audited again', async () => {
    await ops.store(place('void-pending'));
    const response = await voiding('void-pending');
    expect(response.status ?? 200).toBe(200);
    expect(bodyOf(response)).toMatchObject({
      status: 'voided',
      reason: 'sent by mistake',
      actionableAt: null,
      timeline: [{ what: 'imported' }, { what: 'voided', by: 'ada@example.com', reason: 'sent by mistake' }],
    });
    expect(bodyOf(await voiding('void-pending'))).toEqual(bodyOf(response));
    const audited = { actor: 'ada@example.com', action: 'void invoice' };
    const detail = { reason: 'sent by mistake', outcome: 'voided' };
    expect(await auditedOf('void-pending')).toEqual([
      { ...audited, detail: { ...detail, from: 'pending' } },
      { ...audited, detail: { ...detail, repeated: true } },
    ]);
    expect((await voiding('void-pending', { reason: 'another' })).status).toBe(409);
  });

  test.each([
    ['claimed', aClaimedInvoice(place('void-claimed')), 'it is being paid right now'],
    ['paid', { ...place('void-paid'), status: 'paid' as const }, 'refund it instead'],
  ])('one that is %s is a conflict that says what to do', async (_, invoice, text) => {
    await ops.store(invoice);
    const response = await voiding(invoice.id);
    expect(response).toMatchObject({ status: 409 });
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining(text) });
    expect(await auditedOf(invoice.id)).toEqual([]);
  });

  test('a payment in progress is canceled, if the provider does that', async () => {
    await ops.store(inProgress('void-alive', 'pi_1'), inProgress('void-late', 'pi_late'));
    expect(bodyOf(await voiding('void-alive'))).toMatchObject({ status: 'voided' });
    const late = await voiding('void-late');
    expect(late.status).toBe(409);
    expect(bodyOf(late)).toMatchObject({
      detail: expect.stringContaining('wait for the outcome, then refund'),
    });
    // An attempt to cancel a payment is on record too.
    expect(await auditedOf('void-late')).toMatchObject([
      { detail: { outcome: 'not canceled', paymentId: 'pi_late' } },
    ]);
  });

  test('a payment that the provider knows is recorded, and the answer says so', async () => {
    await ops.store(parked('void-found'));
    found.set('void-found', { kind: 'found', paymentId: 'pi_2' });
    const response = await voiding('void-found');
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({
      detail: 'the provider has payment pi_2 for invoice "void-found", which is paid now: refund it instead',
    });
    expect(await auditedOf('void-found')).toMatchObject([{ detail: { outcome: 'paid', paymentId: 'pi_2' } }]);
  });

  test('while a call may be in flight, the answer says until when', async () => {
    await ops.store(parkedJustNow('void-soon'));
    const response = await voiding('void-soon');
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({
      detail: expect.stringContaining('ask again from 2026-01-01T12:09:00.000Z on'),
    });
  });

  test('a provider that cannot say is 503; a payment of another amount is for that person to judge', async () => {
    await ops.store(parked('void-silent'), parked('void-odd'));
    found.set('void-silent', { kind: 'blocked', message: 'it is down', retryAfterMs: 1 });
    found.set('void-odd', { kind: 'differs', paymentId: 'pi_3', message: 'pi_3 over 5 usd' });
    expect((await voiding('void-silent')).status).toBe(503);
    expect(bodyOf(await voiding('void-odd'))).toMatchObject({ status: 'voided' });
  });

  test('needs a reason, and an invoice', async () => {
    expect((await voiding('void-pending', {})).status).toBe(400);
    expect((await voiding('void-pending', { reason: 'x', force: true })).status).toBe(400);
    expect((await ops.api.voidInvoice(request('void-pending'))).status).toBe(400);
    expect((await voiding('nobody')).status).toBe(404);
  });
});

describe('POST ops/invoices/{id}/retry', () => {
  test('with another payment method', async () => {
    const declined = { keyNumber: 1, declines: 0, deferrals: 0, keyCreatedAt };
    await ops.store({
      ...place('retry-method'),
      status: 'declined',
      declinedAt: keyCreatedAt,
      payment: declined,
    });
    expect(bodyOf(await retrying('retry-method', { paymentMethod: 'pm_new' }))).toMatchObject({
      status: 'pending',
      payment: { keyNumber: 2, method: { id: 'pm_new', from: 'retry' } },
    });
    expect(await auditedOf('retry-method')).toMatchObject([
      { detail: { from: 'declined', keyNumber: 2, paymentMethod: 'pm_new', notCharged: false } },
    ]);
  });

  test('a payment method is checked as in an import', async () => {
    for (const paymentMethod of ['', 'has space', 5]) {
      const response = await retrying('retry-method', { paymentMethod });
      expect(response.status).toBe(400);
      expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'paymentMethod' }] });
    }
  });

  test('is refused while a charge may exist', async () => {
    await ops.store(parked('retry-unsure'));
    const response = await retrying('retry-unsure', { paymentMethod: 'pm_new' });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('may have been charged') });
  });

  test.each([
    ['paid', { kind: 'found', paymentId: 'pi_4' }, 'there is nothing to retry'],
    ['processing', { kind: 'processing', paymentId: 'pi_4', state: 'processing' }, 'wait for its outcome'],
  ] as const)('notCharged is refused if the provider says otherwise: %s', async (status, answer, text) => {
    const id = `retry-${status}`;
    await ops.store(parked(id));
    found.set(id, answer);
    const response = await retrying(id, { notCharged: true, reason: 'I looked' });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining(text) });
    const after = bodyOf(await ops.api.getInvoice(aRequest({ params: { id } })));
    expect(after).toMatchObject({ status, payment: { keyNumber: 1 } });
    expect(await auditedOf(id)).toMatchObject([{ detail: { outcome: status, paymentId: 'pi_4' } }]);
  });

  test('notCharged has to wait until no call can be in flight', async () => {
    await ops.store(parkedJustNow('retry-soon'));
    const response = await retrying('retry-soon', { notCharged: true, reason: 'I looked' });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('2026-01-01T12:09:00.000Z') });
  });
});

describe('POST ops/invoices/{id}/void/undo', () => {
  const undoing = (id: string, body: unknown = { reason: 'it was the wrong one' }) =>
    ops.api.undoVoid(request(id, body));

  test('what was voided before it was ever claimed is pending again, and that is audited', async () => {
    await ops.store(place('undo'));
    await voiding('undo');
    expect(bodyOf(await undoing('undo'))).toMatchObject({
      status: 'pending',
      reason: null,
      actionableAt: '2026-01-01T12:00:00.000Z',
      timeline: [
        { what: 'imported' },
        { what: 'voided' },
        { what: 'void undone', by: 'ada@example.com', reason: 'it was the wrong one' },
      ],
      actions: { void: { allowed: true }, undoVoid: { allowed: false } },
    });
    expect((await auditedOf('undo')).at(-1)).toEqual({
      actor: 'ada@example.com',
      action: 'undo void',
      detail: { reason: 'it was the wrong one', from: 'voided' },
    });
    const again = await undoing('undo');
    expect(again.status).toBe(409);
    expect(bodyOf(again)).toMatchObject({ detail: 'invoice "undo" is pending: expected one that is voided' });
    expect(bodyOf(await voiding('undo'))).toMatchObject({ status: 'voided' });
  });

  test('one that was claimed is a conflict that says what to do instead, and the invoice says so before', async () => {
    await ops.store({ ...parked('undo-claimed'), status: 'voided' });
    const response = await undoing('undo-claimed');
    expect(response.status).toBe(409);
    const why =
      'may have been charged: a claim or a payment of it is on record. Import it under another id to charge it';
    expect(bodyOf(response)).toMatchObject({ detail: `invoice "undo-claimed" ${why}` });
    expect(bodyOf(await ops.api.getInvoice(aRequest({ params: { id: 'undo-claimed' } })))).toMatchObject({
      status: 'voided',
      actions: { undoVoid: { allowed: false, why: `It ${why}.` } },
    });
    expect(await auditedOf('undo-claimed')).toEqual([]);
  });

  test('needs a reason, and an invoice', async () => {
    expect((await undoing('undo', {})).status).toBe(400);
    expect((await undoing('nobody')).status).toBe(404);
  });
});

describe('POST ops/invoices/{id}/notes', () => {
  const noting = (id: string, text: unknown) => ops.api.addNote(request(id, { text }));

  test('a note is in the timeline and audited, and changes nothing else of an invoice in any state', async () => {
    await ops.store({ ...place('noted'), status: 'paid' }, aClaimedInvoice(place('noted-claimed')));
    const text = 'She rang: <b>wants</b> a paper invoice.\nSent today.';
    const noted = bodyOf(await noting('noted', text));
    expect(noted).toMatchObject({
      status: 'paid',
      timeline: [{ what: 'imported' }, { what: 'note', by: 'ada@example.com', text }],
    });
    expect(bodyOf(await noting('noted-claimed', 'x'))).toMatchObject({ status: 'claimed' });
    expect(await auditedOf('noted')).toEqual([{ actor: 'ada@example.com', action: 'add note', detail: {} }]);
  });

  test('its text is only with the invoice, where an erasure of the customer reaches it', async () => {
    await ops.store({ ...place('noted-text'), status: 'paid' });
    const before = ops.journal.lines.length;
    await noting('noted-text', 'rings as Mary Smith');
    expect(ops.journal.lines.slice(before)).toMatchObject([
      {
        at: expect.any(String),
        actor: 'ada@example.com',
        action: 'add note',
        target: 'noted-text',
        changes: {},
      },
      { outcome: 200 },
    ]);
    expect(JSON.stringify([ops.journal.lines, await ops.audited()])).not.toContain('Mary Smith');
    expect(bodyOf(await noting('noted-text', 'x'))).toMatchObject({
      timeline: [{}, { text: 'rings as Mary Smith' }, { text: 'x' }],
    });
  });

  test.each(['', '  ', 'x'.repeat(501), 'bell \u0007', 5, undefined])(
    '%j is a problem of the text',
    async (text) => {
      const response = await noting('noted', text);
      expect(response.status).toBe(400);
      expect(bodyOf(response)).toMatchObject({ errors: [{ field: 'text' }] });
    },
  );

  test('needs an invoice', async () => {
    expect((await noting('nobody', 'x')).status).toBe(404);
  });
});

describe('PATCH ops/invoices/{id}', () => {
  test('moves the due date of a pending invoice', async () => {
    await ops.store(place('move-pending'));
    const response = await moving('move-pending', { dueAt: '2026-03-01T12:00:00+01:00' });
    expect(bodyOf(response)).toMatchObject({
      dueAt: '2026-03-01T11:00:00.000Z',
      actionableAt: '2026-03-01T11:00:00.000Z',
      importedDueAt: '2026-01-01T12:00:00.000Z',
    });
    expect(await auditedOf('move-pending')).toEqual([
      {
        actor: 'ada@example.com',
        action: 'move due date',
        detail: { from: '2026-01-01T12:00:00.000Z', to: '2026-03-01T11:00:00.000Z', reason: null },
      },
    ]);
  });

  test.each([
    [{ dueAt: 'tomorrow' }, 'dueAt'],
    [{ dueAt: '2026-03-01T12:00:00' }, 'dueAt'],
    [{}, 'dueAt'],
    [{ dueAt: '2026-03-01T12:00:00Z', amountMinor: 1 }, 'body'],
  ])('%j is a problem of %s', async (body, field) => {
    const response = await moving('move-pending', body);
    expect(response.status).toBe(400);
    expect(bodyOf(response)).toMatchObject({ errors: [{ field }] });
  });

  test('a conflict for one that waits for nothing, or may have been charged', async () => {
    const unsure = { ...place('move-unsure'), payment };
    await ops.store(aClaimedInvoice(place('move-claimed')), unsure);
    const dueAt = '2026-03-01T12:00:00Z';
    expect((await moving('move-claimed', { dueAt })).status).toBe(409);
    const response = await moving('move-unsure', { dueAt });
    expect(response.status).toBe(409);
    expect(bodyOf(response)).toMatchObject({ detail: expect.stringContaining('may have been charged') });
    expect((await moving('nobody', { dueAt })).status).toBe(404);
  });
});
