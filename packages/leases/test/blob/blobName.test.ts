import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blobName, commonNamePrefix } from '../../src/blobLockStore.ts';

describe('the blob name of a lock', () => {
  test.each([
    ['jobs/process-invoices/3', 'jobs/process-invoices/3'],
    ['INV_7.pdf', 'INV_7.pdf'],
    ['inv-1#receipt', 'inv-1=23receipt'],
    ['a=b', 'a=3db'],
    ['./a/../b.', '=2e/a/=2e=2e/b=2e'],
    ['/a//b/', '=2fa/=2fb=2f'],
    ['Zürich €', 'Z=fcrich=20=u20ac'],
    ['\ud800', '=ud800'],
  ])('%s', (key, name) => {
    expect(blobName(key)).toBe(name);
  });

  test('is a readable beginning and a hash when the key is too long or too deep', () => {
    expect(blobName(`jobs/${'é'.repeat(1000)}`)).toMatch(/^jobs\/(=e9){64}==[0-9a-f]{64}$/);
    expect(blobName(`${'a/'.repeat(300)}a`)).toMatch(/^a\/a-a-.*==[0-9a-f]{64}$/);
  });

  test('rejects an empty key and one over 1,024 characters', () => {
    expect(() => blobName('')).toThrow(RangeError);
    expect(() => blobName('a'.repeat(1025))).toThrow(RangeError);
    expect(blobName('a'.repeat(1024))).toHaveLength(1024);
  });

  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
  const nasty = fc.constantFrom(
    '/',
    '.',
    '=',
    '%',
    '#',
    ' ',
    'a',
    'A',
    '0',
    '2',
    'f',
    'u',
    '\u0301',
    'e',
    'é',
    '\udc00',
  );
  const anyKey = fc
    .array(fc.oneof(nasty, unit), { minLength: 1, maxLength: 1024, size: 'max' })
    .map((units) => units.join(''));
  const shortKey = fc.string({ unit: nasty, minLength: 1, maxLength: 6 });

  test('is valid for any key', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const name = blobName(key);
        expect(name.length).toBeGreaterThan(0);
        expect(name.length).toBeLessThanOrEqual(1024);
        expect(name).toMatch(/^[A-Za-z0-9_=./-]+$/);
        expect(new URL(`http://host/locks/${name}`).pathname).toBe(`/locks/${name}`);
        expect(name).not.toMatch(/[./]$|\/\//);
      }),
    );
  });

  test('differs for different keys', () => {
    fc.assert(
      fc.property(shortKey, shortKey, (one, two) => {
        expect(blobName(one) === blobName(two)).toBe(one === two);
      }),
      { numRuns: 2000 },
    );
  });

  test('begins with the common prefix of its folder, whatever part of the key is asked for', () => {
    fc.assert(
      fc.property(fc.oneof(anyKey, shortKey), fc.nat(), (key, length) => {
        expect(blobName(key).startsWith(commonNamePrefix(key.slice(0, length % (key.length + 1))))).toBe(
          true,
        );
      }),
      { numRuns: 2000 },
    );
    expect(commonNamePrefix('jobs/process-invoices/')).toBe('jobs');
    expect(commonNamePrefix('')).toBe('');
  });

  test('stays in the folder of its key, however long or deep the rest', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(blobName(`work-items/${key.slice(0, 1000)}#x`)).toMatch(/^work-items\//);
      }),
    );
  });

  test('differs for long keys that differ in one character', () => {
    fc.assert(
      fc.property(anyKey, fc.nat(), unit, (key, at, other) => {
        const i = at % key.length;
        const changed = key.slice(0, i) + other + key.slice(i + 1);
        expect(blobName(changed) === blobName(key)).toBe(changed === key);
      }),
    );
  });
});
