import { describe, expect, test } from 'vitest';
import { ConfigError, parseConfig, readConfig } from '../../src/serviceBus/config.ts';
import { parseDuration } from '../../src/serviceBus/duration.ts';

const withQueues = (Queues: unknown, more: object = {}) => ({
  UserConfig: { Namespaces: [{ Name: 'sbemulatorns', Queues, ...more }], Logging: { Type: 'File' } },
});
const problemsOf = (json: unknown) => {
  try {
    parseConfig(json, 'test');
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'none';
};

test('the default configuration has the queues of payonce', () => {
  expect(readConfig(new URL('../../../../local/serviceBusConfig.json', import.meta.url))).toEqual([
    {
      name: 'payment-commands',
      rules: {
        lockMs: 60_000,
        maxDeliveryCount: 10,
        requiresSession: false,
        duplicateWindowMs: 300_000,
        timeToLiveMs: 14 * 86_400_000,
        deadLetterOnExpiry: true,
      },
    },
    {
      name: 'locks',
      rules: {
        lockMs: 30_000,
        maxDeliveryCount: 10,
        requiresSession: true,
        duplicateWindowMs: undefined,
        timeToLiveMs: 14 * 86_400_000,
        deadLetterOnExpiry: false,
      },
    },
  ]);
});

test('accepts a queue in the format of the official emulator’s sample', () => {
  const Properties = {
    DeadLetteringOnMessageExpiration: false,
    DefaultMessageTimeToLive: 'PT1H',
    DuplicateDetectionHistoryTimeWindow: 'PT20S',
    ForwardDeadLetteredMessagesTo: '',
    ForwardTo: '',
    LockDuration: 'PT1M',
    MaxDeliveryCount: 3,
    RequiresDuplicateDetection: false,
    RequiresSession: false,
  };
  const [queue] = parseConfig(withQueues([{ Name: 'queue.1', Properties }], { Topics: [] }), 'test');
  expect(queue).toMatchObject({
    name: 'queue.1',
    rules: { timeToLiveMs: 3_600_000, duplicateWindowMs: undefined },
  });
});

test('names every invalid field and every unsupported feature', () => {
  const problems = problemsOf(
    withQueues(
      [
        { Name: 'a', Properties: { LockDuration: 'PT6M', MaxDeliveryCount: 0, ForwardTo: 'b' } },
        { Name: 'b', Properties: { LockDuration: 'a minute', EnablePartitioning: true } },
        { Name: '$bad', Properties: {} },
      ],
      { Topics: [{ Name: 'topic' }] },
    ),
  );
  const at = 'UserConfig.Namespaces.0.Queues';
  expect(problems).toContain(`${at}.0.Properties.LockDuration: expected an ISO 8601 duration, PT1S to PT5M`);
  expect(problems).toContain(`${at}.0.Properties.MaxDeliveryCount`);
  expect(problems).toContain(`${at}.0.Properties.ForwardTo: forwarding to another queue is not supported`);
  expect(problems).toContain(`${at}.1.Properties.LockDuration`);
  expect(problems).toMatch(/Queues\.1\.Properties: .*EnablePartitioning/);
  expect(problems).toContain(`${at}.2.Name`);
  expect(problems).toContain('Topics: topics and subscriptions are not supported');
});

test('rejects two queues with the same name, and a file that is missing', () => {
  const twice = [{ Name: 'a' }, { Name: 'A' }];
  expect(problemsOf(withQueues(twice))).toMatch(/"A" is defined twice/);
  expect(() => readConfig('/nowhere.json')).toThrow(ConfigError);
});

describe('durations', () => {
  test.each([
    ['PT1M', 60_000],
    ['P14D', 1_209_600_000],
    ['P1DT2H3M4.5S', 93_784_500],
    ['P2W', 1_209_600_000],
  ])('%s', (text, ms) => expect(parseDuration(text)).toBe(ms));
  test.each(['', 'P', 'PT', 'P1DT', '1M', 'PT1M ', 'P-1D'])('"%s" is not a duration', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});
