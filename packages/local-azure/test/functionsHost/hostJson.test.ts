import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ignoredMembers, parseHostJson } from '../../src/functionsHost/hostJson.ts';
import { parseTimeSpan } from '../../src/functionsHost/timeSpan.ts';

test('the defaults of the real host', () => {
  const { extensions, functionTimeout, singleton } = parseHostJson({ version: '2.0' }, {});
  expect(extensions.http).toEqual({ routePrefix: 'api' });
  expect(extensions.queues).toEqual({
    batchSize: 16,
    newBatchThreshold: 8,
    maxDequeueCount: 5,
    maxPollingInterval: 60_000,
    visibilityTimeout: 0,
    messageEncoding: 'base64',
  });
  expect(extensions.serviceBus).toMatchObject({
    autoCompleteMessages: true,
    maxAutoLockRenewalDuration: 300_000,
    prefetchCount: 0,
  });
  expect(functionTimeout).toBe(1_800_000);
  expect(singleton).toEqual({ listenerLockPeriod: 60_000, listenerLockRecoveryPollingInterval: 60_000 });
});

test('in this app the next host asks for the lease of a timer every 15 s, the shortest that the real host takes', () => {
  const content: unknown = JSON.parse(
    readFileSync(new URL('../../../../host.json', import.meta.url), 'utf8'),
  );
  const { listenerLockRecoveryPollingInterval } = parseHostJson(content, {}).singleton;
  expect(listenerLockRecoveryPollingInterval).toBe(15_000);
});

test('settings AzureFunctionsJobHost__… override members, matched case-insensitively', () => {
  const content = { version: '2.0', extensions: { queues: { batchSize: 4 } }, functionTimeout: '00:01:00' };
  const { extensions, functionTimeout } = parseHostJson(content, {
    AzureFunctionsJobHost__Extensions__Queues__BatchSize: '7',
    AzureFunctionsJobHost__extensions__serviceBus__autoCompleteMessages: 'False',
    AzureFunctionsJobHost__functionTimeout: '-1',
  });
  expect(extensions.queues.batchSize).toBe(7);
  expect(extensions.serviceBus.autoCompleteMessages).toBe(false);
  expect(functionTimeout).toBe(Number.POSITIVE_INFINITY);
  expect(content.extensions.queues.batchSize).toBe(4);
});

test('the error names every invalid member', () => {
  const content = { extensions: { queues: { batchSize: 33, maxPollingInterval: '2 s' } } };
  expect(() => parseHostJson(content, {})).toThrow(
    /version: .*\n.*extensions\.queues\.batchSize: .*\n.*extensions\.queues\.maxPollingInterval: expected a time span/,
  );
});

test('lists the members that have no effect', () => {
  const read = parseHostJson(
    {
      version: '2.0',
      extensions: {
        queues: { batchSize: 1 },
        serviceBus: { clientRetryOptions: {} },
        blobs: { maxDegreeOfParallelism: 1 },
        eventHubs: {},
        durableTask: { hubName: 'h' },
      },
    },
    {},
  );
  expect(ignoredMembers(read)).toEqual(['serviceBus.clientRetryOptions', 'eventHubs']);
});

test.each([
  ['00:00:30', 30_000],
  ['01:02:03', 3_723_000],
  ['1.00:00:00', 86_400_000],
  ['00:00:00.100', 100],
  ['00:05', 300_000],
  ['30', undefined],
  ['24:00:00', undefined],
  ['00:60:00', undefined],
])('time span %s', (text, ms) => {
  expect(parseTimeSpan(text)).toBe(ms);
});
