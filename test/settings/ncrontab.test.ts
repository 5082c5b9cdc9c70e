import { Cron } from 'croner';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ncrontabError } from '../../src/settings/ncrontab.ts';

describe('ncrontabError', () => {
  test.each([
    '0 */5 * * * *',
    '*/30 * * * * *',
    '0 0 0 1 1 0',
    '59 59 23 31 12 6',
    '0 0 9-17 * * MON-FRI',
    '0 0 0 1 Jan,July *',
    '0,15,30-40/2 5/10 * * * sunday',
    '  0  0  0  *  *  *  ',
  ])('accepts "%s"', (expression) => {
    expect(ncrontabError(expression)).toBeUndefined();
  });

  test.each([
    ['', 'has 0 fields'],
    ['*/5 * * * *', 'has 5 fields'],
    ['0 0 0 * * * 2026', 'has 7 fields'],
    ['60 * * * * *', '"60" as its second'],
    ['0 60 * * * *', '"60" as its minute'],
    ['0 0 24 * * *', '"24" as its hour'],
    ['0 0 0 0 * *', '"0" as its day'],
    ['0 0 0 * 13 *', '"13" as its month'],
    ['0 0 0 * * 7', '"7" as its day of week'],
    ['0 0 0 * * FRO', '"FRO" as its day of week'],
    ['0 0 0 * MON *', '"MON" as its month'],
    ['0 30-10 * * * *', '"30-10" as its minute'],
    ['*/0 * * * * *', '"*/0" as its second'],
    ['1,,2 * * * * *', '"" as its second'],
    ['? * * * * *', '"?" as its second'],
    ['0 0 0 L * *', '"L" as its day'],
    ['00:05:00', 'has 1 field,'],
    ['every 5 minutes at noon please', '"every" as its second'],
  ])('rejects "%s": %s', (expression, why) => {
    expect(ncrontabError(expression)).toContain(why);
  });

  test('a scheduler can run whatever it accepts', () => {
    const bounds = [
      [0, 59],
      [0, 59],
      [0, 23],
      [1, 28],
      [1, 12],
      [0, 6],
    ] as const;
    const fields = bounds.map(([min, max]) => {
      const value = fc.integer({ min, max });
      const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
      const step = fc.tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 1, max: max }));
      const item = fc.oneof(
        fc.constant('*'),
        value.map(String),
        range,
        step.map(([over, n]) => `${over}/${n}`),
      );
      return fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','));
    });
    fc.assert(
      fc.property(fc.tuple(...fields), (parts) => {
        const expression = parts.join(' ');
        expect(ncrontabError(expression)).toBeUndefined();
        expect(new Cron(expression, { paused: true, mode: '6-part' }).nextRun()).not.toBeNull();
      }),
      { numRuns: 50 },
    );
  });
});
