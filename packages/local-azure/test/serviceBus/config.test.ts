import { readFileSync } from 'node:fs';
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

test('the example in the documentation is one', () => {
  const page = readFileSync(new URL('../../docs/service-bus.md', import.meta.url), 'utf8');
  const [, example = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? [];
  const names = parseConfig(JSON.parse(example), 'test').map(({ name }) => name);
  expect(names).toEqual(['orders', 'events', 'events/Subscriptions/mail']);
});

test('the default configuration has the queues of payonce', () => {
  expect(readConfig(new URL('../../../../local/serviceBusConfig.json', import.meta.url))).toEqual([
    {
      kind: 'queue',
      name: 'payment-commands',
      filters: [],
      properties: expect.objectContaining({ RequiresDuplicateDetection: true }),
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
      kind: 'queue',
      name: 'locks',
      filters: [],
      properties: expect.objectContaining({ RequiresSession: true }),
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
        { Name: 'a', Properties: { LockDuration: 'PT6M', MaxDeliveryCount: 0, ForwardTo: 7 } },
        { Name: 'b', Properties: { LockDuration: 'a minute', EnablePartitioning: true } },
        { Name: '$bad', Properties: {} },
      ],
      {
        Topics: [
          {
            Name: 'topic',
            Properties: { LockDuration: 'PT1M' },
            Subscriptions: [
              { Name: 'a/b' },
              {
                Name: 'c',
                Rules: [
                  { Name: 'r', Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression: 'a =' } } },
                ],
              },
              {
                Name: 'd',
                Rules: [
                  {
                    Name: 'r',
                    Properties: {
                      FilterType: 'Sql',
                      SqlFilter: { SqlExpression: '1=1' },
                      Action: { SqlExpression: 'a = 1' },
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    ),
  );
  const at = 'UserConfig.Namespaces.0.Queues';
  expect(problems).toContain(`${at}.0.Properties.LockDuration: expected an ISO 8601 duration, PT1S to PT5M`);
  expect(problems).toContain(`${at}.0.Properties.MaxDeliveryCount`);
  expect(problems).toContain(`${at}.0.Properties.ForwardTo`);
  expect(problems).toContain(`${at}.1.Properties.LockDuration`);
  expect(problems).toMatch(/Queues\.1\.Properties: .*EnablePartitioning/);
  expect(problems).toContain(`${at}.2.Name`);
  expect(problems).toMatch(/Topics\.0\.Properties: .*LockDuration/);
  expect(problems).toMatch(/Subscriptions\.0\.Name: expected only letters/);
  expect(problems).toMatch(/Subscriptions\.1\.Rules\.0: the SQL expression is wrong at the end: a =/);
  expect(problems).toMatch(/Subscriptions\.2\.Rules\.0: the SQL expression is wrong at a: a = 1/);
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
