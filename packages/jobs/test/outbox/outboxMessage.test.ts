import { describe, expect, test } from 'vitest';
import { type DispatchDecision, decideDispatch, dispatchPatch } from '../../src/outbox/messageMoves.ts';

const now = Date.parse('2026-01-01T12:00:00.000Z');

describe('decideDispatch', () => {
  test('backs off from 1 s, doubling up to 5 min, and goes on for as long as the destination is away', () => {
    const waits: number[] = [];
    for (let attempts = 0; attempts < 500; attempts++) {
      const decision = decideDispatch({ attempts }, { kind: 'failed', error: 'down' }, now);
      if (decision.kind !== 'retry') throw new Error(`it was ${decision.kind} after ${attempts} tries`);
      expect(decision.attempts).toBe(attempts + 1);
      waits.push((Date.parse(decision.at) - now) / 1000);
    }
    expect(waits.slice(0, 11)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    expect(new Set(waits.slice(9))).toEqual(new Set([300]));
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
