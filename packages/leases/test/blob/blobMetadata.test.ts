import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromMetadata, keyOfMetadata, toMetadata } from '../../src/blobLockStore.ts';
import type { LockRecord } from '../../src/lockStore.ts';

const part = fc.string({ unit: 'binary', maxLength: 128 });
const record: fc.Arbitrary<LockRecord> = fc.record({
  fence: fc.maxSafeNat(),
  owner: fc.record({ instance: part, job: part, runId: part }, { requiredKeys: ['instance', 'job'] }),
  since: fc.nat({ max: 4_000_000_000_000 }),
  leaseMs: fc.integer({ min: 1, max: 60_000 }),
});

test('a record survives the trip through HTTP headers', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 512 }), record, (key, written) => {
      const metadata = toMetadata(key, written);
      for (const value of Object.values(metadata)) expect(value).toMatch(/^[\x21-\x7e]+$/);
      expect(fromMetadata(metadata)).toEqual(written);
      expect(keyOfMetadata(metadata)).toBe(key);
    }),
  );
});

test('the longest key and owner fit into 8 KB', () => {
  const longest = '€'.repeat(256);
  const metadata = toMetadata('€'.repeat(1024), {
    fence: Number.MAX_SAFE_INTEGER,
    owner: { instance: longest, job: longest, runId: longest },
    since: Date.now(),
    leaseMs: 60_000,
  });
  expect(Object.entries(metadata).flat().join('').length).toBeLessThan(8 * 1024);
});

test('plain parts stay readable', () => {
  const metadata = toMetadata('jobs/a', {
    fence: 7,
    owner: { instance: 'web-1', job: 'process-invoices', runId: 'r1' },
    since: 0,
    leaseMs: 30_000,
  });
  expect(metadata).toEqual({
    key: 'jobs/a',
    instance: 'web-1',
    job: 'process-invoices',
    runid: 'r1',
    since: '1970-01-01T00:00:00.000Z',
    leasems: '30000',
    fence: '7',
  });
});

test('an owner that is too long is rejected', () => {
  const owner = { instance: 'x'.repeat(257), job: 'j' };
  expect(() => toMetadata('k', { fence: 1, owner, since: 0, leaseMs: 1 })).toThrow(RangeError);
});

test.each([
  [{}],
  [{ key: 'a' }],
  [{ instance: 'i', job: 'j', since: 'yesterday', leasems: '1', fence: '1' }],
  [{ instance: 'i', job: 'j', since: '1970-01-01T00:00:00Z', leasems: '1', fence: 'x' }],
])('metadata that no holder wrote is not a record: %o', (metadata) => {
  expect(fromMetadata(metadata)).toBeUndefined();
});
