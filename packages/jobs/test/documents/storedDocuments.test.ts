import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { recordedTelemetry } from '../../../../test/support/recordedTelemetry.ts';
import { partMetric } from '../../../leases/src/telemetry.ts';
import {
  formatVersion,
  isNewer,
  NewerVersion,
  readableDocument,
  readableDocuments,
  tolerantObject,
} from '../../src/documents/storedDocuments.ts';
import { type Unreadable, unreadableReport } from '../../src/documents/unreadable.ts';

const schema = z.object({ id: z.string(), attempts: z.int() });
const newer = { id: 'n1', attempts: 'counted otherwise', version: formatVersion + 1 };

describe('isNewer', () => {
  test.each([
    { version: formatVersion + 1 },
    { version: formatVersion + 0.5, id: 'a' },
    { version: Number.POSITIVE_INFINITY },
  ])('%o is newer', (value) => {
    expect(isNewer(value)).toBe(true);
  });

  test.each([
    {},
    { version: formatVersion },
    { version: 0 },
    { version: `${formatVersion + 1}` },
    { version: null },
    { content: { version: formatVersion + 1 } },
    [formatVersion + 1],
    formatVersion + 1,
    'version 2',
    null,
    undefined,
  ])('%o is not newer', (value) => {
    expect(isNewer(value)).toBe(false);
  });
});

describe('tolerantObject', () => {
  const tolerant = tolerantObject({
    id: z.string(),
    retry: tolerantObject({ tries: z.int() }).exactOptional(),
  });

  test('keeps unknown fields, at every level', () => {
    const document = { id: 'a', priority: 'high', retry: { tries: 1, hint: ['x'] } };
    expect(tolerant.parse(document)).toEqual(document);
  });

  test('checks the known fields', () => {
    expect(tolerant.safeParse({ id: 5, priority: 'high' }).success).toBe(false);
    expect(tolerant.safeParse({ id: 'a', retry: { hint: 'x' } }).success).toBe(false);
  });
});

describe('readableDocument', () => {
  test('returns a document of the right shape, with or without a version', () => {
    expect(readableDocument({ id: 'a', attempts: 1 }, schema, 'invoice')).toEqual({ id: 'a', attempts: 1 });
    const versioned = schema.extend({ version: z.int() });
    expect(readableDocument({ id: 'a', attempts: 1, version: formatVersion }, versioned, 'invoice')).toEqual({
      id: 'a',
      attempts: 1,
      version: formatVersion,
    });
  });

  test('throws for a document of a newer release, even if it has the right shape', () => {
    for (const document of [newer, { ...newer, attempts: 1 }]) {
      const read = () => readableDocument(document, schema, 'invoice');
      expect(read).toThrow(NewerVersion);
      expect(read).toThrow(`invoice "n1" was written by a newer release: expected version ${formatVersion}`);
    }
  });

  test('throws what the schema throws for any other shape', () => {
    expect(() => readableDocument({ id: 'a' }, schema, 'invoice')).toThrow(z.ZodError);
  });
});

test('readableDocuments passes over documents of a newer release silently, and broken ones with a report', () => {
  const found: Unreadable[] = [];
  const documents = [
    { id: 'a', attempts: 1 },
    newer,
    { id: 'b', attempts: 'three' },
    null,
    { id: 'c', attempts: 2 },
  ];
  const readable = readableDocuments(documents, schema, 'invoice', (one) => found.push(one));
  expect(readable.map(({ id }) => id)).toEqual(['a', 'c']);
  expect(found).toEqual([
    { type: 'invoice', id: 'b', problem: expect.stringMatching(/^attempts: /) },
    { type: 'invoice', id: '', problem: expect.any(String) },
  ]);
});

test('unreadableReport counts every report and logs each document once', () => {
  const telemetry = recordedTelemetry();
  const lines: string[] = [];
  const report = unreadableReport({ telemetry, log: (line) => lines.push(line) });
  report({ type: 'invoice', id: 'i1', problem: 'attempts: expected number' });
  report({ type: 'invoice', id: 'i1', problem: 'attempts: expected number' });
  report({ type: 'outboxMessage', id: 'i1', problem: 'body: missing' });
  expect(telemetry.reports.map(({ name, attributes }) => [name, attributes.type])).toEqual([
    [partMetric.documentUnreadable, 'invoice'],
    [partMetric.documentUnreadable, 'invoice'],
    [partMetric.documentUnreadable, 'outboxMessage'],
  ]);
  expect(lines).toEqual([
    'invoice "i1" cannot be read and is passed over: attempts: expected number',
    'outboxMessage "i1" cannot be read and is passed over: body: missing',
  ]);
});
