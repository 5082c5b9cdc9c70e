import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromAscii, keyHash, tableName, toAscii } from '../../src/sql/lockNames.ts';

/** Any sequence of code units, halves of characters included. */
const text = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));

describe('a key as a database keeps it', () => {
  test('is ASCII, and comes back as it was', () => {
    fc.assert(
      fc.property(text, (key) => {
        expect(toAscii(key)).toMatch(/^[\x20-\x7e]*$/);
        expect(fromAscii(toAscii(key))).toBe(key);
      }),
    );
  });

  test('begins with the ASCII form of whatever the key begins with', () => {
    fc.assert(
      fc.property(text, text, fc.nat(), (key, other, at) => {
        expect(toAscii(key).startsWith(toAscii(key.slice(0, at % (key.length + 1))))).toBe(true);
        expect(toAscii(key).startsWith(toAscii(other))).toBe(key.startsWith(other));
      }),
    );
  });

  test('is readable if the key is plain', () => {
    expect(toAscii('jobs/process-invoices/3')).toBe('jobs/process-invoices/3');
    expect(toAscii('jobs/täglich')).toBe(String.raw`jobs/t\u00e4glich`);
  });

  test('has a hash of 32 bytes, and no two keys have the same', () => {
    const keys = ['a', 'A', 'a ', 'ä', 'a\u0308', '\ud800', '\ufffd', 'a\0', 'x'.repeat(1024)];
    const hashes = keys.map((key) => keyHash(key).toString('hex'));
    expect(new Set(hashes).size).toBe(keys.length);
    expect(hashes.every((hash) => hash.length === 64)).toBe(true);
    expect(() => keyHash('')).toThrow(RangeError);
  });
});

test.each(['', 'a"b', 'a.b.c', 'Locks', '1st', 'a-b', 'x'.repeat(64)])('%j names no table', (name) => {
  expect(() => tableName(name, '"')).toThrow(RangeError);
});

test('a table may be in a schema', () => {
  expect(tableName('payonce_locks', '"')).toBe('"payonce_locks"');
  expect(tableName('app.locks', '`')).toBe('`app`.`locks`');
});
