import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readDurableOptions } from '../../../src/functionsHost/durable/options.ts';

const names = ['controlQueueVisibilityTimeout', 'workItemQueueVisibilityTimeout'] as const;

test.each(names)('%s is five minutes by default, and at least one', (name) => {
  const read = (value: string) => readDurableOptions({ storageProvider: { [name]: value } });
  expect(readDurableOptions(undefined).storageProvider[name]).toBe(300_000);
  expect(read('00:01:00').storageProvider[name]).toBe(60_000);
  expect(() => read('00:00:59')).toThrow(`storageProvider.${name}: expected at least 00:01:00`);
});

test.each(names)('this app waits no longer than it has to for the work of a dead host: %s', (name) => {
  const { extensions } = JSON.parse(
    readFileSync(new URL('../../../../../host.json', import.meta.url), 'utf8'),
  );
  expect(readDurableOptions(extensions.durableTask).storageProvider[name]).toBe(60_000);
});
