import { describe, expect, test } from 'vitest';
import { chargesBySample, refusedShareOf, type Sample, shareOf, spanOf } from '../../bench/pace/samples.ts';

/** A sample after so many seconds of steady work at 20 charges and 25 calls a second. */
function sampleAt(seconds: number): Sample {
  return {
    at: seconds * 1000,
    calls: seconds * 25,
    refused: seconds * 5,
    charges: seconds * 20,
    cosmos: seconds * 2,
    pace: seconds,
    busyMs: seconds * 1500,
  };
}

const samples = [0, 1, 2, 3, 4, 5].map(sampleAt);

describe('a span', () => {
  test('counts between the samples inside its bounds', () => {
    expect(spanOf(samples, 1_000, 4_000)).toEqual({
      seconds: 3,
      calls: 75,
      refused: 15,
      charges: 60,
      cosmos: 6,
      pace: 3,
      busyMs: 4500,
    });
  });

  test('is as long as its samples are apart, not as its bounds', () => {
    const late = [sampleAt(0), sampleAt(1.4), sampleAt(2.1), sampleAt(3.9), sampleAt(5)];
    const span = spanOf(late, 1_000, 4_500);
    expect(span.seconds).toBeCloseTo(2.5);
    expect(shareOf(span, 25)).toBeCloseTo(0.8);
  });

  test.each([
    ['no sample', 10_000, 20_000],
    ['one sample', 4_500, 5_500],
  ])('with %s says nothing', (_name, from, until) => {
    expect(() => spanOf(samples, from, until)).toThrow('too few samples');
  });
});

test('the share is what was charged of what the rate allows', () => {
  expect(shareOf({ charges: 1_500, seconds: 60 }, 25)).toBe(1);
  expect(shareOf({ charges: 60, seconds: 60 }, 25)).toBeCloseTo(0.04);
});

test('the refused share is of all calls; without a call nothing was refused', () => {
  expect(refusedShareOf({ calls: 200, refused: 2 })).toBe(0.01);
  expect(refusedShareOf({ calls: 0, refused: 0 })).toBe(0);
});

test('charges between samples', () => {
  expect(chargesBySample([sampleAt(0), sampleAt(1), sampleAt(3)])).toEqual([20, 40]);
});
