import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredEntry } from '../../src/invoice/invoice.ts';
import { callsOverAt, callsOverMs, callWindowMs, longestTimeoutMs } from '../../src/paying/payingPolicy.ts';

const start = Date.parse('2026-01-01T12:00:00.000Z');
const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
const entry = (minutes: number, what: string, batchId?: string): StoredEntry => ({
  at: at(minutes),
  what,
  by: 'host-a',
  ...(batchId === undefined ? {} : { batchId }),
});
const imported = entry(-60, 'imported');

describe('callsOverAt', () => {
  test('an invoice that was never claimed was never called for', () => {
    expect(callsOverAt({ timeline: [imported] })).toBeUndefined();
  });

  test('counts from the entry with which the last batch let go', () => {
    const timeline = [imported, entry(0, 'claimed', 'b1'), entry(2, 'parked', 'b1'), entry(70, 'looked up')];
    expect(callsOverAt({ timeline })).toBe(start + 2 * 60_000 + callsOverMs);
  });

  test('counts from what ended the claim if the batch itself did not', () => {
    const claims = [entry(0, 'claimed', 'b1'), entry(1, 'payment method resolved', 'b1')];
    const timeline = [imported, ...claims, entry(9, 'processing')];
    expect(callsOverAt({ timeline })).toBe(start + 9 * 60_000 + callsOverMs);
  });

  test('counts from the first entry that is left if the batches have been cut out of a long timeline', () => {
    const timeline = [imported, entry(500, 'still in progress'), entry(900, 'parked')];
    expect(callsOverAt({ timeline })).toBe(start + 500 * 60_000 + callsOverMs);
  });

  test('a note is no end of a claim, and no first entry that is left', () => {
    const note = entry(1, 'note');
    const timeline = [imported, note, entry(0, 'claimed', 'b1'), note, entry(9, 'parked')];
    expect(callsOverAt({ timeline })).toBe(start + 9 * 60_000 + callsOverMs);
    const cut = [imported, note, entry(500, 'still in progress')];
    expect(callsOverAt({ timeline: cut })).toBe(start + 500 * 60_000 + callsOverMs);
    expect(callsOverAt({ timeline: [imported, note] })).toBeUndefined();
  });

  test('whatever the settings, a batch that began before makes and abandons its calls within half of it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 86_400_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (stale, share) => {
          const timeoutMs = longestTimeoutMs(stale) * share;
          const lastBegins = callWindowMs({ claimStaleMs: stale, timeoutMs });
          // A charge, and the look-up after it.
          expect(lastBegins + 2 * timeoutMs).toBeLessThan(callsOverMs / 2);
        },
      ),
    );
  });
});
