import { globSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { queuedMessage } from '../../packages/jobs/src/workItems/queuedMessage.ts';

const base64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64');

test('whatever is sent as base64 of JSON comes out as it was', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
      const text = JSON.stringify(value);
      expect(queuedMessage(base64(text))).toEqual(JSON.parse(text));
    }),
  );
});

test.each([
  ['a text that is not JSON, as base64', base64('plain'), 'plain'],
  ['a text that is not base64', 'not base64!', 'not base64!'],
  ['broken JSON', '{"resourceId": "raw', '{"resourceId": "raw'],
  [
    'base64 of bytes that are no UTF-8',
    base64(new Uint8Array([0xff, 0xfe])),
    base64(new Uint8Array([0xff, 0xfe])),
  ],
  ['base64 that was cut off', 'e30', 'e30'],
  ['an empty message', '', ''],
  ['what the programming model has parsed', { resourceId: 'raw' }, { resourceId: 'raw' }],
  ['a number', 7, 7],
])('%s', (_what, received, expected) => {
  expect(queuedMessage(received)).toEqual(expected);
});

test('the host decodes nothing, so each function with a storage queue does, also while settings are missing', () => {
  const { extensions } = JSON.parse(readFileSync('host.json', 'utf8'));
  expect(extensions.queues.messageEncoding).toBe('none');
  const sources = globSync('src/functions/*.ts').map((file) => readFileSync(file, 'utf8'));
  const triggers = sources
    .flatMap((source) => source.split(/\bapp\.(?=\w+\()/))
    .filter((given) => given.startsWith('storageQueue('));
  expect(triggers).toHaveLength(2);
  for (const source of triggers) expect(source).toMatch(/payonce\.\w+\(queuedMessage\(message\)/);
});
