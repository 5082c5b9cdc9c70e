import { expect, test } from 'vitest';
import { longestDelayMs, tooLate, wrongRecords } from './stops.ts';

test('a delay that the lock of a message explains is fine, a longer one is not', () => {
  expect(tooLate([5, longestDelayMs])).toEqual([]);
  expect(tooLate([5, longestDelayMs + 1])).toEqual([`1 invoices waited up to ${longestDelayMs + 1} ms`]);
});

test('records are wrong if a run or group is still open, or if they miss a claim', () => {
  const claimed = { what: 'claimed', at: '2026-01-01T00:00:00.000Z' };
  const evidence = { invoices: [{ timeline: [claimed] }, { timeline: [claimed] }] } as unknown as Parameters<
    typeof wrongRecords
  >[1];
  const group = (status: 'completed' | 'running', count: number) => ({ status, counts: { claimed: count } });
  const run = { id: 'a', status: 'completed' } as const;
  expect(
    wrongRecords([{ ...run, groups: { '0': group('completed', 2) } }], evidence, { killed: false }),
  ).toEqual([]);
  expect(
    wrongRecords([{ ...run, groups: { '0': group('running', 1) } }], evidence, { killed: false }),
  ).toEqual(['group 0 of run a, which is completed, is running', 'the runs count 1 claims of 2']);
  expect(
    wrongRecords([{ ...run, status: 'running', groups: { '0': group('completed', 2) } }], evidence, {
      killed: false,
    }),
  ).toEqual(['run a is still running']);
  const counts = (n: number) =>
    wrongRecords([{ ...run, groups: { '0': group('completed', n) } }], evidence, { killed: true });
  expect(counts(1)).toEqual([]);
  expect(counts(3)).toEqual(['the runs count 3 claims of 2']);
});
