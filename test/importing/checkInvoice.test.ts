import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkJsonInvoice } from '../../src/importing/checkInvoice.ts';
import { checkCsvInvoice } from '../../src/importing/csvRows.ts';

const good = {
  id: 'inv-1',
  customerId: 'cus_1',
  amountMinor: 1999,
  currency: 'USD',
  dueAt: '2026-01-31T12:00:00+01:00',
  paymentMethod: 'pm_card_visa',
  description: 'Hosting, January',
};
const utc = '2026-01-31T11:00:00.000Z';
const { amountMinor: _, ...rest } = good;
const goodCells = { ...rest, amount: '19.99' };

function faultOf(change: Record<string, unknown>) {
  const row = checkJsonInvoice({ ...good, ...change });
  if (row.kind !== 'bad') throw new Error('taken');
  return { field: row.field, error: row.error };
}

describe('an invoice in JSON', () => {
  test('is accepted, and its time is kept in UTC', () => {
    expect(checkJsonInvoice(good)).toEqual({ kind: 'invoice', invoice: { ...good, dueAt: utc } });
  });

  test('needs no description', () => {
    const { description: _description, ...without } = good;
    expect(checkJsonInvoice(without)).toEqual({ kind: 'invoice', invoice: { ...without, dueAt: utc } });
  });

  test.each(['id', 'customerId', 'amountMinor', 'currency', 'dueAt'])('needs %s', (field) => {
    expect(faultOf({ [field]: undefined })).toEqual({
      field,
      error: expect.stringMatching(/^is missing: expected ./),
    });
    expect(faultOf({ [field]: null })).toEqual({
      field,
      error: expect.stringMatching(/^expected .*, not null$/),
    });
  });

  test.each([12, null, 'x', [good], true])('cannot be %j', (value) => {
    expect(checkJsonInvoice(value)).toEqual({
      kind: 'bad',
      field: 'row',
      error: `expected an object, not ${Array.isArray(value) ? 'an array' : JSON.stringify(value)}`,
    });
  });

  test.each(['amount', 'dueat', 'foo', '__proto__'])(
    'has no field %s; the error lists those there are',
    (field) => {
      const change: unknown = JSON.parse(`{"${field}":1}`);
      const fault = checkJsonInvoice(
        Object.defineProperties({ ...good }, Object.getOwnPropertyDescriptors(change)),
      );
      expect(fault).toEqual({
        kind: 'bad',
        field,
        error: expect.stringMatching(/^unknown field: expected one of id, .*dueAt/),
      });
    },
  );

  test('with several faults is rejected once, under the first faulty field', () => {
    expect(checkJsonInvoice({ ...good, id: 5, currency: 'usd', extra: 1 })).toEqual({
      kind: 'bad',
      field: 'id',
      error:
        'expected an id of 1 to 255 bytes, not 5; ' +
        'currency: expected an ISO 4217 currency code, like EUR, not "usd": did you mean USD?; ' +
        'extra: unknown field: expected one of id, customerId, currency, dueAt, paymentMethod, description, amountMinor',
    });
  });
});

describe('the amount in JSON', () => {
  test.each([19.99, 0, -1, -0.5, 2 ** 53, Number.NaN, '1999', [], {}, true])(
    '%j is refused',
    (amountMinor) => {
      expect(faultOf({ amountMinor })).toEqual({
        field: 'amountMinor',
        error: expect.stringContaining('expected a whole number of minor units above 0'),
      });
    },
  );

  test.each([
    ['USD', 99_999_999],
    ['JPY', 99_999_999],
    ['KWD', 99_999_990],
    ['ISK', 999_999],
    ['UGX', 999_999],
    ['MGA', 9_999_999_900],
    ['INR', 999_999_999],
    ['IDR', 999_999_999_999],
  ])("in %s is at most %i, the provider's limit", (currency, most) => {
    expect(checkJsonInvoice({ ...good, currency, amountMinor: most }).kind).toBe('invoice');
    expect(faultOf({ currency, amountMinor: most + 1 })).toEqual({
      field: 'amountMinor',
      error: expect.stringContaining("the payment provider's limit"),
    });
  });

  test.each([
    ['USD', 49, '0.50 USD'],
    ['JPY', 49, '50 JPY'],
    ['HUF', 17_499, '175.00 HUF'],
    ['KWD', 9, '0.010 KWD'],
  ])('in %s, %i is too little', (currency, amountMinor, least) => {
    const error = `expected at least ${least}, the payment provider's limit, not `;
    expect(faultOf({ currency, amountMinor }).error).toMatch(error);
  });

  test.each([
    [
      'KWD',
      12_345,
      'expected another amount: Stripe takes only KWD amounts whose third decimal is 0, not 12.345',
    ],
    ['MGA', 12_345, 'expected another amount: Stripe takes only MGA amounts without decimals, not 123.45'],
  ])('in %s, %i cannot be charged exactly', (currency, amountMinor, error) => {
    expect(faultOf({ currency, amountMinor })).toEqual({ field: 'amountMinor', error });
  });
});

test('an amount above the limit in an unknown currency is one fault', () => {
  expect(faultOf({ amountMinor: 10 ** 9, currency: 'usd' }).error).not.toContain('amountMinor');
});

describe('the id', () => {
  test.each(['a', 'INV 2026-001', 'Rechnung-№7', '😀', '100%', '...', 'a.b', "it's;--", 'é'.repeat(127)])(
    'can be %j',
    (id) => {
      expect(checkJsonInvoice({ ...good, id }).kind).toBe('invoice');
    },
  );

  test.each([
    '',
    'a/b',
    'a\\b',
    'a?b',
    'a#b',
    'a%20b',
    'a\nb',
    '\u0000',
    'a\u007fb',
    ' a',
    'a ',
    'a\u00a0',
    '.',
    '..',
    '\ud800',
    'x'.repeat(256),
    'é'.repeat(128),
    'x'.repeat(1024),
  ])('%j is refused', (id) => {
    expect(faultOf({ id })).toEqual({ field: 'id', error: expect.stringMatching(/^expected .*, not ./) });
  });

  test('if accepted, fits Cosmos and survives a round trip through a URL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (id) => {
        fc.pre(checkJsonInvoice({ ...good, id }).kind === 'invoice');
        expect(Buffer.byteLength(id)).toBeLessThanOrEqual(1023);
        expect(id).not.toMatch(/[/\\?#]/);
        const { pathname } = new URL(`/docs/${encodeURIComponent(id)}`, 'http://localhost');
        expect(decodeURIComponent(pathname.slice('/docs/'.length))).toBe(id);
      }),
    );
  });
});

describe('the due time', () => {
  test.each([
    ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00.5Z', '2026-01-31T12:00:00.500Z'],
    ['2026-01-31T12:00:00.123456789Z', '2026-01-31T12:00:00.123Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
    ['2024-02-29T23:59:59-05:30', '2024-03-01T05:29:59.000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is kept as %s', (dueAt, kept) => {
    expect(checkJsonInvoice({ ...good, dueAt })).toMatchObject({ invoice: { dueAt: kept } });
  });

  test.each([
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-02-30T12:00:00Z',
    '2025-02-29T12:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31 12:00:00Z',
    '31.01.2026',
    'tomorrow',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '+012026-01-31T12:00:00Z',
    '',
    1_769_860_800_000,
  ])('%j is refused', (dueAt) => {
    expect(faultOf({ dueAt })).toEqual({ field: 'dueAt', error: expect.stringMatching(/^expected a time /) });
  });

  test('sorts the same as text and as a time', () => {
    const min = new Date('1970-01-02T00:00:00Z');
    const time = fc.date({ min, max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true });
    const offset = fc.constantFrom('Z', '+00:00', '+05:45', '-11:00', '+14:00');
    const dueAt = fc.tuple(time, offset).map(([at, zone]) => at.toISOString().replace('Z', zone));
    const kept = (given: string) => {
      const row = checkJsonInvoice({ ...good, dueAt: given });
      return row.kind === 'invoice' ? row.invoice.dueAt : '';
    };
    fc.assert(
      fc.property(dueAt, dueAt, (one, other) => {
        expect(kept(one) < kept(other)).toBe(Date.parse(one) < Date.parse(other));
        expect(Date.parse(kept(one))).toBe(Date.parse(one));
      }),
    );
  });
});

describe('the other text fields', () => {
  test.each([
    ['description', 'x'.repeat(1001)],
    ['description', ''],
    ['description', 'a\u0000b'],
    ['description', '\udc00'],
    ['customerId', 'a\u0007'],
    ['customerId', ' a'],
    ['paymentMethod', 'pm card'],
    ['paymentMethod', 'pm_ä'],
    ['currency', 'EURO'],
    ['currency', 'XXX'],
  ])('%s %j is refused', (field, value) => {
    expect(faultOf({ [field]: value })).toEqual({ field, error: expect.stringMatching(/^expected /) });
  });

  test.each([
    ['a\u200bb', 'U+200B at character 2'],
    ['\u202eabc', 'U+202E at character 1'],
    ['ab\ufeff', 'U+FEFF at character 3'],
    ['a\u00a0b', 'U+00A0 at character 2'],
    ['😀\u2066b', 'U+2066 at character 2'],
    ['a\u{e0041}', 'U+E0041 at character 2'],
    ['a\u3164', 'U+3164 at character 2'],
  ])('%j is no id: an invisible character is named', (id, what) => {
    for (const field of ['id', 'customerId']) {
      expect(faultOf({ [field]: id })).toEqual({
        field,
        error: `expected no invisible character, not ${what}`,
      });
    }
  });

  test.each([
    ['cafe\u0301', 'expected composed characters (NFC): "caf\u00e9"'],
    ['\u212a1', 'expected composed characters (NFC): "K1"'],
    ['\u0456nv-1', 'expected letters of one alphabet, not Latin and Cyrillic'],
    ['A\u0391', 'expected letters of one alphabet, not Latin and Greek'],
    ['INV\u20101', 'expected another id: it looks like "INV-1"'],
    ['INV\u20131', 'expected another id: it looks like "INV-1"'],
    ['\uff29\uff2e\uff36-\uff11', 'expected another id: it looks like "INV-1"'],
    ['\u0421\u041e\u0420-1', 'expected another id: it looks like "COP-1"'],
    ['\u039d\u039f-1', 'expected another id: it looks like "NO-1"'],
    ['\u{1d400}1', 'expected another id: it looks like "A1"'],
  ])('%j is no id: it looks like another', (id, error) => {
    expect(faultOf({ id })).toEqual({ field: 'id', error });
  });

  test('an id may have any letters, also of those that join', () => {
    for (const id of ['INV 1', 'Zoë', 'Żółć', 'INV-発注1', 'СЧЁТ-1', 'Ωμ-1', 'فاتورة', 'שלום', '😀']) {
      expect(checkJsonInvoice({ ...good, id, customerId: id }).kind).toBe('invoice');
    }
  });

  test('a description may have several lines', () => {
    expect(checkJsonInvoice({ ...good, description: 'one\r\n\ttwo' }).kind).toBe('invoice');
  });

  test('an error shortens a long value', () => {
    expect(faultOf({ id: 'x'.repeat(100_000) })).toEqual({
      field: 'id',
      error: expect.stringMatching(/^.{1,200}$/),
    });
  });
});

describe('an invoice in CSV', () => {
  test('is the same as in JSON', () => {
    expect(checkCsvInvoice(goodCells)).toEqual({ kind: 'invoice', invoice: { ...good, dueAt: utc } });
  });

  test('an empty cell counts as missing', () => {
    expect(checkCsvInvoice({ ...goodCells, description: '' })).toMatchObject({ kind: 'invoice' });
    expect(checkCsvInvoice({ ...goodCells, customerId: '' })).toEqual({
      kind: 'bad',
      field: 'customerId',
      error: 'is missing: expected a customer id of 1 to 255 bytes',
    });
  });

  test.each([
    ['1.5', 'JPY', 'no decimals'],
    ['1.2345', 'KWD', 'at most 3 decimals'],
    ['0.00', 'USD', 'more than 0'],
    ['-5', 'USD', 'no sign'],
    ['1e2', 'USD', 'no exponent'],
    ['1000000.00', 'USD', "the payment provider's limit"],
    ['99999999999999999999', 'USD', 'too large'],
    ['', 'USD', 'is missing'],
  ])('an amount of %j %s is refused: %s', (amount, currency, why) => {
    expect(checkCsvInvoice({ ...goodCells, amount, currency })).toEqual({
      kind: 'bad',
      field: 'amount',
      error: expect.stringContaining(why),
    });
  });
});
