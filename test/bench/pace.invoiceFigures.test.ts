import { expect, test } from 'vitest';
import { claimsPerPaid, figuresOf } from '../../bench/pace/invoiceFigures.ts';

function invoice(status: string, ...entries: string[]) {
  return { status, timeline: ['imported', ...entries].map((what) => ({ what })) };
}

test('counts claims and retries from the timelines', () => {
  const figures = figuresOf([
    invoice('pending'),
    invoice('claimed', 'claimed'),
    invoice('paid', 'claimed', 'paid'),
    invoice('paid', 'claimed', 'reclaimed', 'paid'),
    invoice('pending', 'claimed', 'retry: transient', 'claimed', 'retry: transient'),
  ]);
  expect(figures).toEqual({ paid: 2, claimedAgain: 2, repeatedClaims: 2, retried: 1 });
  expect(claimsPerPaid(figures)).toBe(2);
});

test('without a paid invoice there is no number of claims per paid invoice', () => {
  expect(claimsPerPaid(figuresOf([invoice('claimed', 'claimed')]))).toBeNaN();
});
