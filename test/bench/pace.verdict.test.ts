import { describe, expect, test } from 'vitest';
import { type DueAtOnce, missesOfDueAtOnce } from '../../bench/pace/dueAtOnceVerdict.ts';
import { type Measurement, missesOf } from '../../bench/pace/verdict.ts';

const good: Measurement = {
  share: 0.99,
  refused: 0.01,
  claimsPerPaid: 1.02,
  cosmosPerInvoice: 0.2,
  pacePerInvoice: 0.25,
  busy: 0.5,
  paid: 1_000,
  unsettled: 0,
  chargedTwice: 0,
};

describe('a cell', () => {
  test('at the bars meets them', () => {
    expect(missesOf({}, good)).toEqual([]);
    expect(missesOf({ change: 'add' }, { ...good, shareAfterChange: 0.97 })).toEqual([]);
  });

  test.each<[string, Partial<Measurement>, string]>([
    ['a lower share', { share: 0.989 }, 'share below 0.99'],
    ['a share that is not a number', { share: Number.NaN }, 'share below 0.99'],
    ['more refusals', { refused: 0.011 }, 'more than 1 % refused'],
    ['more claims', { claimsPerPaid: 1.03 }, 'more than 1.02 claims per paid invoice'],
    ['nothing paid', { claimsPerPaid: Number.NaN }, 'more than 1.02 claims per paid invoice'],
    ['charges without a paid invoice', { unsettled: 20 }, '20 charges are not settled'],
    ['a double charge', { chargedTwice: 1 }, '1 CHARGED TWICE'],
  ])('with %s misses', (_name, changes, miss) => {
    expect(missesOf({}, { ...good, ...changes })).toEqual([miss]);
  });

  test('with a change also has a bar for the time after it', () => {
    const low = 'share after the change below 0.97';
    expect(missesOf({ change: 'kill' }, { ...good, shareAfterChange: 0.96 })).toEqual([low]);
    expect(missesOf({ change: 'add' }, good)).toEqual([low]);
  });

  test('in which a host was killed may leave charges to settle later', () => {
    expect(missesOf({ change: 'kill' }, { ...good, shareAfterChange: 1, unsettled: 20 })).toEqual([]);
  });
});

describe('many due at once', () => {
  const allPaid: DueAtOnce = {
    count: 100,
    paid: 100,
    chargedTwice: 0,
    claimedAgain: 0,
    retried: 0,
    refused: 0.01,
  };

  test('all paid at the first try misses nothing', () => {
    expect(missesOfDueAtOnce(allPaid)).toEqual([]);
  });

  test.each<[Partial<DueAtOnce>, string]>([
    [{ paid: 98 }, '2 invoices are not paid'],
    [{ chargedTwice: 1 }, '1 CHARGED TWICE'],
    [{ claimedAgain: 1 }, '1 invoices were claimed more than once'],
    [{ retried: 3 }, '3 invoices waited for another try'],
    [{ refused: 0.02 }, 'more than 1 % of the calls refused'],
  ])('%o misses', (changes, miss) => {
    expect(missesOfDueAtOnce({ ...allPaid, ...changes })).toEqual([miss]);
  });
});
