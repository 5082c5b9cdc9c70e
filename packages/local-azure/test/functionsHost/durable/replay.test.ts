import { describe, expect, test } from 'vitest';
import type { Action } from '../../../src/functionsHost/durable/actions.ts';
import type { HistoryEvent } from '../../../src/functionsHost/durable/events.ts';
import { concludeEpisode, freshEvents } from '../../../src/functionsHost/durable/orchestrationEpisode.ts';
import { shareOf } from '../../../src/functionsHost/durable/partitions.ts';
import { replay } from '../../../src/functionsHost/durable/replay.ts';

const at = '2026-01-01T00:00:00.000Z';
const now = Date.parse(at);
const base = { EventId: -1, Timestamp: at };
const started: HistoryEvent[] = [
  { EventType: 'OrchestratorStarted', ...base },
  { EventType: 'ExecutionStarted', ...base, Name: 'o', Version: null, Input: null, ParentInstance: null },
];
const scheduled = (EventId: number, Name: string): HistoryEvent => ({
  EventType: 'TaskScheduled',
  EventId,
  Timestamp: at,
  Name,
  Input: null,
});
const completed = (TaskScheduledId: number): HistoryEvent => ({
  EventType: 'TaskCompleted',
  ...base,
  TaskScheduledId,
  Result: '1',
});
const failed = (TaskScheduledId: number): HistoryEvent => ({
  EventType: 'TaskFailed',
  ...base,
  TaskScheduledId,
  Reason: 'r',
  Details: 'd',
});
const timerCreated = (EventId: number, ms: number): HistoryEvent => ({
  EventType: 'TimerCreated',
  EventId,
  Timestamp: at,
  FireAt: new Date(now + ms).toISOString(),
});
const timerFired = (TimerId: number): HistoryEvent => ({
  EventType: 'TimerFired',
  ...base,
  TimerId,
  FireAt: at,
});
const call = (functionName: string): Action => ({ actionType: 0, functionName, input: { n: 1 } });
const timer = (ms: number): Action => ({
  actionType: 5,
  fireAt: new Date(now + ms).toISOString(),
  isCanceled: false,
});
const options = {
  executionId: 'x',
  maximumShortTimer: 10_000,
  longTimerInterval: 5000,
  check: () => undefined,
};

describe('replay', () => {
  test('only an action that no event confirms is new, and only once it is its turn', () => {
    const actions = [call('a'), call('b'), call('c')];
    const history = [...started, scheduled(0, 'a'), completed(0)];
    expect(replay(actions, history, options)).toEqual({
      decisions: [{ kind: 'activity', id: 1, name: 'b', input: '{"n":1}' }],
      finished: false,
      continueAsNew: undefined,
    });
  });

  test('a compound action starts all its parts at once and waits for all, even if one failed', () => {
    const actions: Action[] = [{ actionType: 12, compoundActions: [call('a'), call('b')] }, call('c')];
    const history = [...started, scheduled(0, 'a'), scheduled(1, 'b'), failed(0)];
    expect(replay(actions, history, options)).toMatchObject({ decisions: [], finished: false });
    expect(replay(actions, [...history, completed(1)], options).decisions).toMatchObject([
      { id: 2, name: 'c' },
    ]);
  });

  test('a retry takes one number per try and one per timer; the pause grows', () => {
    const retryOptions = {
      firstRetryIntervalInMilliseconds: 100,
      maxNumberOfAttempts: 3,
      backoffCoefficient: 2,
    };
    const actions: Action[] = [{ actionType: 1, functionName: 'a', input: 1, retryOptions }];
    const history = [...started, scheduled(0, 'a'), failed(0)];
    expect(replay(actions, history, options).decisions).toEqual([
      { kind: 'timer', id: 1, fireAt: now + 100 },
    ]);
    history.push(timerCreated(1, 100), timerFired(1), scheduled(2, 'a'), failed(2));
    expect(replay(actions, history, options).decisions).toEqual([
      { kind: 'timer', id: 3, fireAt: now + 200 },
    ]);
  });

  test('a long timer is a chain of short ones', () => {
    const history = [...started];
    expect(replay([timer(12_000)], history, options).decisions).toEqual([
      { kind: 'timer', id: 0, fireAt: now + 5000 },
    ]);
    history.push(timerCreated(0, 5000));
    history.push({
      EventType: 'OrchestratorStarted',
      EventId: -1,
      Timestamp: new Date(now + 5000).toISOString(),
    });
    history.push(timerFired(0));
    expect(replay([timer(12_000)], history, options)).toMatchObject({
      decisions: [{ kind: 'timer', id: 1, fireAt: now + 12_000 }],
      finished: false,
    });
  });

  test('an event raised before anyone waited is not lost', () => {
    const raised: HistoryEvent = {
      EventType: 'EventRaised',
      ...base,
      Name: 'go',
      Input: null,
      MessageId: 'm',
    };
    const wait: Action = { actionType: 6, externalEventName: 'go' };
    const history = [...started, raised, scheduled(0, 'a'), completed(0)];
    expect(replay([call('a'), wait], history, options).finished).toBe(true);
    expect(replay([wait, wait], [...started, raised], options).finished).toBe(false);
  });

  test('a history from another orchestrator fails the orchestration', () => {
    const state = { isDone: false, actions: [[call('a')]], schemaVersion: 3 };
    const result = concludeEpisode(started, [scheduled(0, 'z')], { kind: 'state', state }, at, options);
    expect(result).toMatchObject({
      kind: 'committable',
      events: [
        {},
        { EventType: 'ExecutionCompleted', OrchestrationStatus: 'Failed', Result: /Non-Deterministic/ },
        {},
      ].map((one) =>
        expect.objectContaining(
          'Result' in one ? { ...one, Result: expect.stringMatching(one.Result) } : one,
        ),
      ),
    });
  });
});

test('drops duplicates and answers to unknown tasks', () => {
  const history = [...started, scheduled(0, 'a'), scheduled(1, 'b'), completed(0)];
  const messages = [completed(0), failed(0), completed(1), failed(1), completed(7), timerFired(1)];
  expect(freshEvents(history, messages)).toEqual([completed(1)]);
});

test('shares differ by at most one and add up to all partitions', () => {
  for (let hosts = 1; hosts <= 7; hosts++) {
    const living = Array.from({ length: hosts }, (_, index) => `host${index}`);
    const shares = living.map((host) => shareOf(host, living, 4));
    expect(shares.reduce((sum, share) => sum + share)).toBe(4);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
  }
});
