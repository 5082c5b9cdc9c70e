import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxAttempts } from '../../src/invoice/invoice.ts';
import { defaultSettlementPolicy as policy } from '../../src/paying/payingPolicy.ts';
import { commandFor, type PaymentCommand } from '../../src/paying/paymentBatch.ts';
import {
  type CommandOutcome,
  decideSettlement,
  planSettlement,
  type Settlement,
} from '../../src/paying/settlement.ts';
import { anInvoice } from '../support/anInvoice.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');
const day = 24 * 3600 * 1000;

function command(
  changes: { attempt?: number; payment?: Partial<PaymentCommand['payment']> } = {},
): PaymentCommand {
  const { attempt = 1, payment = {} } = changes;
  const base = commandFor(anInvoice(), { attempt, at: '2026-01-01T11:59:00.000Z' });
  return { ...base, payment: { ...base.payment, ...payment } };
}

const soft: CommandOutcome = {
  kind: 'declined',
  severity: 'soft',
  code: 'insufficient_funds',
  message: 'no money',
};
const hard: CommandOutcome = { kind: 'declined', severity: 'hard', code: 'expired_card', message: 'expired' };
const transient: CommandOutcome = { kind: 'transient', code: 'rate_limit', message: 'too many' };
const unknown: CommandOutcome = { kind: 'unknown', message: 'timed out' };

describe('decideSettlement', () => {
  test('a success is final and keeps the provider’s id', () => {
    expect(decideSettlement(command(), { kind: 'succeeded', paymentId: 'pi_1' }, policy, now)).toEqual({
      kind: 'paid',
      paymentId: 'pi_1',
    });
  });

  test('each soft decline follows the schedule with a new key; after the last one the invoice is declined', () => {
    const waits = [0, 1, 2].map((declines) => {
      const settlement = decideSettlement(
        command({ payment: { declines, keyNumber: declines + 1 } }),
        soft,
        policy,
        now,
      );
      if (settlement.kind !== 'retry') throw new Error(settlement.kind);
      expect(settlement.payment).toEqual({ keyNumber: declines + 2, declines: declines + 1, deferrals: 0 });
      expect(settlement.attempts).toBe(0);
      return (Date.parse(settlement.at) - now) / day;
    });
    expect(waits).toEqual([1, 3, 7]);
    expect(decideSettlement(command({ payment: { declines: 3 } }), soft, policy, now)).toEqual({
      kind: 'declined',
      reason: 'insufficient_funds: no money',
    });
  });

  test('a hard decline is final at once', () => {
    expect(decideSettlement(command(), hard, policy, now).kind).toBe('declined');
  });

  test('a call that definitely charged nothing does not count as an attempt and backs off', () => {
    const settlement = decideSettlement(
      command({ attempt: maxAttempts, payment: { deferrals: 3 } }),
      transient,
      policy,
      now,
    );
    expect(settlement).toMatchObject({
      kind: 'retry',
      attempts: maxAttempts - 1,
      payment: { deferrals: 4, keyNumber: 1 },
    });
    expect(settlement).toMatchObject({ at: new Date(now + 40_000).toISOString() });
  });

  test('the provider’s retry-after is honoured', () => {
    const later = decideSettlement(command(), { ...transient, retryAfterMs: 90_000 }, policy, now);
    expect(later).toMatchObject({ at: new Date(now + 90_000).toISOString() });
  });

  test('an unknown outcome while the provider fails at everything is retried with the same key and counts as no attempt', () => {
    const outage: CommandOutcome = { ...unknown, outage: true };
    const again = decideSettlement(command({ attempt: maxAttempts }), outage, policy, now);
    expect(again).toMatchObject({
      kind: 'retry',
      why: 'unknown',
      attempts: maxAttempts - 1,
      payment: { keyNumber: 1, deferrals: 1, unknownSince: new Date(now).toISOString() },
    });
  });

  test('an unknown outcome is retried with the same key, and parked after the last attempt', () => {
    const again = decideSettlement(command({ attempt: 2 }), unknown, policy, now);
    expect(again).toMatchObject({ kind: 'retry', attempts: 2, payment: { keyNumber: 1 } });
    expect(again).toMatchObject({ payment: { keyCreatedAt: '2026-01-01T11:59:00.000Z' } });
    expect(decideSettlement(command({ attempt: maxAttempts }), unknown, policy, now)).toMatchObject({
      kind: 'parked',
      unknown: true,
    });
  });

  test('a key that grew too old unused starts fresh under the same number, and no attempt is counted', () => {
    const before = command({ attempt: maxAttempts, payment: { keyNumber: 2, declines: 1, deferrals: 9 } });
    expect(decideSettlement(before, { kind: 'unused' }, policy, now)).toMatchObject({
      kind: 'retry',
      at: new Date(now).toISOString(),
      payment: { keyNumber: 2, declines: 1, deferrals: 9 },
      attempts: maxAttempts - 1,
    });
    expect(decideSettlement(before, { kind: 'unused' }, policy, now)).not.toHaveProperty(
      'payment.keyCreatedAt',
    );
  });

  test('a key that is too old starts fresh once two look-ups, an hour apart, have found no payment', () => {
    const unclear = { keyNumber: 2, declines: 1, deferrals: 9, unknownSince: '2026-01-01T06:00:00.000Z' };
    const settledAfter = (ms: number, payment: PaymentCommand['payment']) =>
      decideSettlement(
        command({ attempt: maxAttempts, payment }),
        { kind: 'noneFound' },
        policy,
        now + ms,
      ) as Extract<Settlement, { kind: 'retry' }>;
    const key = { ...unclear, keyCreatedAt: '2025-12-31T12:00:00.000Z' };
    const first = settledAfter(0, key);
    expect(first).toMatchObject({
      kind: 'retry',
      why: 'unknown',
      at: new Date(now + 3_600_000).toISOString(),
      payment: { ...key, noneFoundAt: new Date(now).toISOString() },
      attempts: maxAttempts - 1,
    });
    const asked = { ...key, ...first.payment };
    expect(settledAfter(3_599_999, asked)).toMatchObject({ at: first.at, payment: asked });
    const second = settledAfter(3_600_000, asked);
    expect(second.payment).toEqual({
      keyNumber: 2,
      declines: 1,
      deferrals: 9,
      paramsHash: expect.any(String),
    });
    expect(second.attempts).toBe(maxAttempts - 1);
  });

  test('a key that starts over stands for the same charge, by the same method', () => {
    const standsFor = { paramsHash: 'hash', method: { id: 'pm_1', from: 'customer' as const } };
    const key = {
      keyNumber: 1,
      declines: 0,
      deferrals: 0,
      keyCreatedAt: '2025-12-31T12:00:00.000Z',
      ...standsFor,
    };
    const startedOver = (kind: 'noneFound' | 'unused', payment: PaymentCommand['payment']) => {
      const settled = decideSettlement(command({ payment }), { kind }, policy, now);
      return settled.kind === 'retry' ? settled.payment : undefined;
    };
    const asked = { ...key, noneFoundAt: new Date(now - 3_600_000).toISOString() };
    // The provider may remember the key with this method, and refuses it with another.
    const same = { keyNumber: 1, declines: 0, deferrals: 0, ...standsFor };
    expect(startedOver('noneFound', asked)).toEqual(same);
    // It may have refused the key once, and remembers that too.
    expect(startedOver('unused', key)).toEqual(same);
  });

  test.each<[string, CommandOutcome, string | undefined]>([
    ['an unknown outcome', unknown, '2026-01-01T12:00:00.000Z'],
    [
      'a payment that does not settle the invoice',
      { kind: 'unclear', message: 'x' },
      '2026-01-01T12:00:00.000Z',
    ],
    ['a success', { kind: 'succeeded', paymentId: 'pi_1' }, undefined],
    ['a soft decline', soft, undefined],
    ['a hard decline', hard, undefined],
  ])('when the payment became unknown, after %s', (_, outcome, since) => {
    const stored = (before: PaymentCommand) => {
      const settlement = decideSettlement(before, outcome, policy, now);
      const names = { batchId: 'b', shard: '00', settlementId: 's', by: 'host', followUps: () => [] };
      const { patches } = planSettlement([{ command: before, settlement }], { ...names, now });
      return patches[0]?.set?.payment as PaymentCommand['payment'];
    };
    expect(stored(command()).unknownSince).toBe(since);
    const earlier = '2026-01-01T11:00:00.000Z';
    const already = command({ payment: { unknownSince: earlier } });
    expect(stored(already).unknownSince).toBe(since === undefined ? undefined : earlier);
  });

  test.each<CommandOutcome>([
    { kind: 'keyReused', message: 'x' },
    { kind: 'refused', code: 'invalid', message: 'x' },
  ])('$kind: parked, and looked up if an earlier call may have charged', (outcome) => {
    const parked = (before: PaymentCommand) => decideSettlement(before, outcome, policy, now);
    expect(parked(command())).toMatchObject({ kind: 'parked', unknown: false });
    const already = command({ payment: { unknownSince: '2026-01-01T11:00:00.000Z' } });
    expect(parked(already)).toMatchObject({ kind: 'parked', unknown: true });
  });

  test('an unknown payment stays unknown while the provider cannot be asked', () => {
    const before = command({ payment: { unknownSince: '2026-01-01T11:00:00.000Z' } });
    expect(decideSettlement(before, transient, policy, now)).toMatchObject({
      payment: { unknownSince: '2026-01-01T11:00:00.000Z' },
    });
  });

  test('the key’s number rises only after a definite decline', () => {
    const outcomes = fc.constantFrom<CommandOutcome>(soft, hard, transient, unknown, {
      kind: 'keyReused',
      message: 'x',
    });
    fc.assert(
      fc.property(
        outcomes,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 4 }),
        (outcome, attempt, declines) => {
          const before = command({ attempt, payment: { declines, keyNumber: declines + 1 } });
          const settlement = decideSettlement(before, outcome, policy, now);
          if (settlement.kind !== 'retry') return;
          const rises = settlement.payment.keyNumber - before.payment.keyNumber;
          expect(rises).toBe(outcome.kind === 'declined' ? 1 : 0);
          if (rises === 0) expect(settlement.payment.keyCreatedAt).toBe(before.payment.keyCreatedAt);
        },
      ),
    );
  });
});
