/** A body that is meant to do harm. */
export interface HostileBody {
  name: string;
  type: 'text/csv' | 'application/json';
  body: () => string | Uint8Array;
  /** Ids of the valid rows in it, which must be stored. */
  good: readonly string[];
}

const header = 'id,customerId,amount,currency,dueAt,paymentMethod,description';
const line = (id: string, description = '') =>
  `${id},cus_1,19.99,USD,2099-01-31T12:00:00Z,pm_card_visa,${description}`;
const row = (id: string, more: object = {}) =>
  JSON.stringify({
    id,
    customerId: 'cus_1',
    amountMinor: 1999,
    currency: 'USD',
    dueAt: '2099-01-31T12:00:00Z',
    paymentMethod: 'pm_card_visa',
    ...more,
  });
const csv = 'text/csv';
const json = 'application/json';
const [a, b] = ['first', 'last'];

/** The bodies of the four findings, and ten more. Valid rows have ids that begin with `prefix`. */
export function hostileBodies(prefix: string): HostileBody[] {
  let number = 0;
  const named = (
    name: string,
    type: HostileBody['type'],
    body: (ids: { first: string; last: string }) => string | Uint8Array,
    good: readonly string[] = [a, b],
  ): HostileBody => {
    const at = `${prefix}-${number++}`;
    const ids = { first: `${at}-${a}`, last: `${at}-${b}` };
    return { name, type, body: () => body(ids), good: good.map((which) => `${at}-${which}`) };
  };
  return [
    named('3,000,000 rows of one letter', csv, () => `${header}\n${'a\n'.repeat(3_000_000)}`, []),
    named('12 MB of stray quotes', csv, () => `${header}\n${'a"'.repeat(6_200_000)}`, []),
    named('a header of 12 million columns', csv, () => ','.repeat(12_000_000), []),
    named(
      '{} 140,000 times',
      json,
      ({ first, last }) => `[${row(first)},${'{},'.repeat(140_000)}${row(last)}]`,
    ),
    named('a million unknown fields', json, ({ first, last }) => {
      const fields = Array.from({ length: 1_000_000 }, (_, n) => `"f${n}":1`).join(',');
      return `[${row(first)},{${fields}},${row(last)}]`;
    }),
    named(
      'a row nested 5,000 deep',
      json,
      ({ first, last }) => `[${row(first)},{"id":${'['.repeat(5_000)}${']'.repeat(5_000)}},${row(last)}]`,
    ),
    named('a nesting of 12 million', json, ({ first }) => `[${row(first)},${'['.repeat(12_000_000)}`, [a]),
    named(
      'an LF header and CRLF rows',
      csv,
      ({ first, last }) => `${header}\n${line(first, 'x')}\r\n${line(last, 'x')}\r\n`,
    ),
    named(
      'a CRLF header and LF rows',
      csv,
      ({ first, last }) => `${header}\r\n${line(first, 'x')}\n${line(last, 'x')}\n`,
    ),
    named('a row of 11 MB in quotes, full of rows', csv, ({ first, last }) =>
      [header, line(first), `x,"${`\n${line('evil')}`.repeat(150_000)}"`, line(last)].join('\n'),
    ),
    named('rows of 16 KB of quotes', csv, ({ first, last }) =>
      [header, line(first), ...Array.from({ length: 700 }, () => 'a"'.repeat(8_000)), line(last)].join('\n'),
    ),
    named(
      'bytes that are not UTF-8',
      csv,
      ({ first, last }) =>
        Buffer.concat([
          Buffer.from(`${header}\n${line(first)}\n`),
          Buffer.alloc(20_000_000, Buffer.from([0xff, 0xfe, 0x0a])),
          Buffer.from(`\n${line(last)}\n`),
        ]).subarray(0, 400_000),
      [a],
    ),
    named(
      '50,000 long ids of invisible characters',
      json,
      ({ first, last }) => `[${row(first)},${`${row('\u200b'.repeat(30))},`.repeat(50_000)}${row(last)}]`,
    ),
    named(
      'the same id 70,000 times, each other content',
      json,
      ({ first, last }) =>
        `[${row(first)},${Array.from({ length: 70_000 }, (_, n) => row(first, { amountMinor: 2_000 + n })).join()},${row(last)}]`,
    ),
  ];
}
