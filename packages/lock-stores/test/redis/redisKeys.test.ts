import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyOfRecord, redisKeys } from '../../src/redis/redisKeys.ts';

const prefix = 'locks:';
/** Any UTF-16, with many braces, percent signs and lone surrogates. */
const unit = fc.oneof(
  fc.constantFrom('{', '}', '%', '%007d', ':lease', 'a', '\ud800', '\udc00', 'ä', ' '),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
);
const key = fc.array(unit, { minLength: 1, maxLength: 12 }).map((units) => units.join(''));
const sentText = (text: string) => Buffer.from(text, 'utf8').toString('utf8');

/** As Redis finds it: what stands between the first brace and the next closing one, unless that is nothing. */
const hashTag = (name: string) => /\{([^}]+)\}/.exec(name)?.[1];

test('a plain key can be read in Redis', () => {
  expect(redisKeys(prefix, 'jobs/a#1')).toEqual({
    record: 'locks:{jobs/a#1}',
    lease: 'locks:{jobs/a#1}:lease',
  });
});

test('the key of a lock can be told from its record, as Redis keeps it', () => {
  fc.assert(
    fc.property(key, (name) => {
      const { record, lease } = redisKeys(prefix, name);
      expect(keyOfRecord(prefix, sentText(record))).toBe(name);
      expect(keyOfRecord(prefix, lease)).toBeUndefined();
    }),
  );
});

test('record and lease have the same hash tag', () => {
  fc.assert(
    fc.property(key, (name) => {
      const { record, lease } = redisKeys(prefix, name);
      expect(hashTag(record)).toBeDefined();
      expect(hashTag(lease)).toBe(hashTag(record));
    }),
  );
});

test('a key of another prefix is no lock', () => {
  expect(keyOfRecord(prefix, 'other:{a}')).toBeUndefined();
  expect(keyOfRecord(prefix, 'locks:a')).toBeUndefined();
});
