import { describe, expect, test } from 'vitest';
import {
  type DispatchDecision,
  decideDispatch,
  dispatchPatch,
  maxDispatchAttempts,
} from '../../src/outbox/outboxMessage.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');

describe('decideDispatch', () => {
  test('backs off from 1 s, doubling up to 5 min, and parks after the tenth try', () => {
    const waits: number[] = [];
    let attempts = 0;
    for (;;) {
      const decision = decideDispatch({ attempts }, { kind: 'failed', error: 'down' }, now);
      if (decision.kind !== 'retry') {
        expect(decision).toEqual({ kind: 'parked', attempts: maxDispatchAttempts, error: 'down' });
        break;
      }
      waits.push((Date.parse(decision.at) - now) / 1000);
      attempts = decision.attempts;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256]);
    expect(decideDispatch({ attempts: 8 }, { kind: 'failed', error: '' }, now)).toMatchObject({
      at: new Date(now + 256_000).toISOString(),
    });
  });

  test('a message refused for good is parked at once', () => {
    expect(decideDispatch({ attempts: 0 }, { kind: 'refused', error: 'too large' }, now)).toEqual({
      kind: 'parked',
      attempts: 1,
      error: 'too large',
    });
  });

  test('only a dispatched message expires', () => {
    const written = (decision: DispatchDecision) => dispatchPatch({ id: 'm', attempts: 0 }, decision)?.set;
    expect(written({ kind: 'dispatched' })).toHaveProperty('ttl');
    expect(written({ kind: 'parked', attempts: 10, error: 'x' })).not.toHaveProperty('ttl');
    expect(written({ kind: 'retry', attempts: 1, at: '', error: 'x' })).not.toHaveProperty('ttl');
  });
});
