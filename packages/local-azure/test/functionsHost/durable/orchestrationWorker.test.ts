import { beforeEach, expect, inject, test } from 'vitest';
import { historyTable } from '../../../src/functionsHost/durable/history.ts';
import { instanceTable } from '../../../src/functionsHost/durable/instances.ts';
import { largeTexts } from '../../../src/functionsHost/durable/largeText.ts';
import type { TaskMessage } from '../../../src/functionsHost/durable/messages.ts';
import { orchestrationWorker } from '../../../src/functionsHost/durable/orchestrationWorker.ts';
import { openTaskHub } from '../../../src/functionsHost/durable/taskHub.ts';
import { newHubName } from './durableApp.ts';

const hub = await openTaskHub(inject('azurite'), newHubName(), 1);
const large = largeTexts(hub.largeMessages);
const history = historyTable(hub, large);
const instances = instanceTable(hub, large);

let sent: TaskMessage[];
let sendFails: boolean;
beforeEach(() => {
  sent = [];
  sendFails = false;
});

/** A host whose orchestrator calls one activity and returns its result; `beforeAnswer` runs while it "thinks". */
function host(beforeAnswer: () => Promise<void> = async () => undefined) {
  const send = async (message: TaskMessage) => {
    if (sendFails) throw new Error('the queue is away');
    sent.push(message);
  };
  return orchestrationWorker({
    history,
    instances,
    send: { toActivity: send, toInstance: send },
    check: () => undefined,
    replacesRunning: false,
    maximumShortTimer: 1e9,
    longTimerInterval: 1e9,
    async invoke(_name, input) {
      await beforeAnswer();
      const { history: seen } = input as { history: { EventType: number; Result?: string }[] };
      const result = seen.find(({ EventType }) => EventType === 5)?.Result;
      return {
        isDone: result !== undefined,
        actions: [[{ actionType: 0, functionName: 'a', input: 1 }]],
        output: result === undefined ? undefined : JSON.parse(result),
        schemaVersion: 3,
      };
    },
  });
}

const start = (
  InstanceId: string,
  ExecutionId = 'e1',
  Timestamp = new Date().toISOString(),
): TaskMessage => ({
  Event: {
    EventType: 'ExecutionStarted',
    EventId: -1,
    Timestamp,
    Name: 'o',
    Version: null,
    Input: null,
    ParentInstance: null,
  },
  OrchestrationInstance: { InstanceId, ExecutionId },
});
const answer = (InstanceId: string, ExecutionId = 'e1'): TaskMessage => ({
  Event: {
    EventType: 'TaskCompleted',
    EventId: -1,
    Timestamp: new Date().toISOString(),
    TaskScheduledId: 0,
    Result: '"r"',
  },
  OrchestrationInstance: { InstanceId, ExecutionId },
});

test('sends nothing before the history is committed', async () => {
  sendFails = true;
  await expect(host()('order', [start('order')])).rejects.toThrow('the queue is away');
  const stored = await history.read('order');
  expect(stored?.events.map(({ EventType }) => EventType)).toContain('TaskScheduled');
  expect(stored?.isPublished).toBe(false);
});

test('a host that finds an episode committed but not published sends its messages and runs nothing again', async () => {
  sendFails = true;
  await expect(host()('crash', [start('crash')])).rejects.toThrow();
  sendFails = false;
  const other = host(() => Promise.reject(new Error('must not run')));
  expect(await other('crash', [start('crash')])).toBe('done');
  expect(sent.map(({ Event }) => Event.EventType)).toEqual(['TaskScheduled']);
  expect((await history.read('crash'))?.isPublished).toBe(true);
});

test('of two hosts that run the same episode, one commits; the other sends nothing', async () => {
  const slow = Promise.withResolvers<void>();
  const thinking = Promise.withResolvers<void>();
  const paused = host(() => {
    thinking.resolve();
    return slow.promise;
  })('split', [start('split')]);
  await thinking.promise;
  expect(await host()('split', [start('split')])).toBe('done');
  expect(await host()('split', [answer('split')])).toBe('done');
  const before = await history.read('split');
  slow.resolve();
  expect(await paused).toBe('conflict');
  expect(await history.read('split')).toEqual(before);
  expect(sent).toHaveLength(1);
  expect((await instances.read('split'))?.output).toBe('"r"');
});

test('duplicate, late and misdirected messages change nothing', async () => {
  await host()('twice', [start('twice'), start('twice')]);
  await host()('twice', [answer('twice'), answer('twice', 'other')]);
  const ended = await history.read('twice');
  await host()('twice', [start('twice'), answer('twice')]);
  expect(await history.read('twice')).toEqual(ended);
  expect(ended?.events.filter(({ EventType }) => EventType === 'TaskCompleted')).toHaveLength(1);
});

test('an old start does not replace a newer execution', async () => {
  const [old, recent] = [new Date(Date.now() - 60_000).toISOString(), new Date().toISOString()];
  await host()('order of starts', [start('order of starts', 'new', recent)]);
  await host()('order of starts', [answer('order of starts', 'new')]);
  await host()('order of starts', [start('order of starts', 'old', old)]);
  expect((await history.read('order of starts'))?.executionId).toBe('new');
});
