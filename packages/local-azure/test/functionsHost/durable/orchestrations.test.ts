import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { HostProcess } from '../../../../../test/support/functionsHostProcess.ts';
import { clientCall, ended, newHubName, start, startDurableHost, statusWhen, webhook } from './durableApp.ts';

let host: HostProcess;
beforeAll(async () => {
  host = await startDurableHost(inject('azurite'), newHubName(), 'only');
});
afterAll(() => host[Symbol.asyncDispose]());

async function run(name: string, input: unknown = null) {
  const { runtimeStatus, output } = await ended(host, await start(host, name, input));
  return { runtimeStatus, output };
}

describe('activities', () => {
  test('run in sequence; one that returns nothing yields null', async () => {
    const id = await start(host, 'sequence', 'hello');
    expect((await ended(host, id)).output).toEqual({ sum: 3, text: 'text', none: null, input: 'hello', id });
  });

  test('run in parallel: each result once, in the order of the calls', async () => {
    const output = Array.from({ length: 12 }, () => 'only');
    expect(await run('fanOut', { count: 12, ms: 5 })).toEqual({ runtimeStatus: 'Completed', output });
  });

  test('a failure reaches the orchestrator with its message, and on the second line as JSON', async () => {
    const [first = '', second = '', ...more] = String((await run('catches')).output).split('\n');
    expect(first.trim()).toBe("Activity function 'explode' failed: boom");
    expect(JSON.parse(second)).toMatchObject({ Message: 'Error: boom', InnerException: null });
    expect(more).toEqual([]);
  });

  test('a retried activity succeeds on its third try, and later task numbers still match', async () => {
    expect(await run('retries', { key: 'a', attempts: 3 })).toEqual({
      runtimeStatus: 'Completed',
      output: 4,
    });
  });

  test('retries stop after the last attempt', async () => {
    const { runtimeStatus, output } = await run('retries', { key: 'b', attempts: 2 });
    expect(runtimeStatus).toBe('Failed');
    expect(output).toMatch(
      /^Orchestrator function 'retries' failed: Activity function 'failTwice' failed: try 2/,
    );
  });

  test('payloads too large for a queue message or a table property', async () => {
    expect((await run('large')).output).toEqual({ text: 'x'.repeat(200_000) });
  });
});

describe('orchestrations', () => {
  test('a failed one keeps its custom status', async () => {
    const status = await ended(host, await start(host, 'fails'));
    expect(status).toMatchObject({ runtimeStatus: 'Failed', customStatus: 'before the end' });
  });

  test('a thrown error becomes the output', async () => {
    expect(await run('throws')).toEqual({
      runtimeStatus: 'Failed',
      output: "Orchestrator function 'throws' failed: thrown by the orchestrator",
    });
  });

  test('a durable timer waits as long as asked', async () => {
    const { output } = await run('timer', { ms: 700 });
    expect(output).toBeGreaterThanOrEqual(700);
  });

  test('Task.any takes the first of two; the other can be cancelled', async () => {
    expect((await run('race')).output).toBe(43);
  });

  test('continueAsNew: the status shows the last input', async () => {
    const status = await ended(host, await start(host, 'countDown', { left: 3, total: 0 }));
    expect(status).toMatchObject({ output: 6, input: { left: 1, total: 5 } });
  });

  test('sub-orchestrations return results, take a given id, and can fail', async () => {
    const id = await start(host, 'parent');
    expect((await ended(host, id)).output).toMatchObject({
      children: [13, { input: 'from the parent', id: `${id}-child` }],
      error: expect.stringContaining("Orchestrator function 'throws' failed"),
    });
  });

  test('unsupported calls fail by name', async () => {
    expect((await run('callsHttp')).output).toMatch(/callHttp is not supported/);
    expect((await run('callsUnknown')).output).toMatch(/'noSuchActivity' doesn't exist/);
  });
});

describe('events and control', () => {
  test('events are kept until awaited, and the custom status shows', async () => {
    const id = await start(host, 'approval');
    await clientCall(host, 'raiseEvent', id, 'approve', { by: 'a' });
    await clientCall(host, 'raiseEvent', id, 'approve', { by: 'b' });
    const status = await ended(host, id);
    expect(status.output).toHaveLength(2);
    expect(status.output).toEqual(expect.arrayContaining([{ by: 'a' }, { by: 'b' }]));
    expect(status.customStatus).toEqual({ waiting: false });
  });

  test('takes no events while suspended, takes them once resumed', async () => {
    const id = await start(host, 'approval');
    await statusWhen(host, id, ({ customStatus }) => customStatus !== null);
    await clientCall(host, 'suspend', id, 'pause');
    await statusWhen(host, id, ({ runtimeStatus }) => runtimeStatus === 'Suspended');
    await clientCall(host, 'raiseEvent', id, 'approve', 1);
    await clientCall(host, 'raiseEvent', id, 'approve', 2);
    await clientCall(host, 'resume', id, 'go on');
    expect((await ended(host, id)).output).toEqual(expect.arrayContaining([1, 2]));
  });

  test('terminate: the output is the reason', async () => {
    const id = await start(host, 'approval');
    await clientCall(host, 'terminate', id, 'enough');
    expect(await ended(host, id)).toMatchObject({ runtimeStatus: 'Terminated', output: 'enough' });
    await expect(clientCall(host, 'raiseEvent', id, 'approve', 1)).resolves.toBeNull();
  });

  test('a finished id can be started again, a running one answers 409', async () => {
    await start(host, 'approval', null, 'taken');
    const again = await fetch(webhook(host, 'orchestrators/approval/taken'), { method: 'POST' });
    expect(again.status).toBe(409);
    await clientCall(host, 'terminate', 'taken', 'over');
    await ended(host, 'taken');
    await start(host, 'sequence', 'second', 'taken');
    const status = await statusWhen(host, 'taken', ({ runtimeStatus }) => runtimeStatus === 'Completed');
    expect(status).toMatchObject({ name: 'sequence', input: 'second' });
  });
});

describe('the HTTP API', () => {
  test('a start answers 202 with the status links', async () => {
    const response = await fetch(`${host.address}/api/start/sequence`, { method: 'POST', body: '"x"' });
    expect(response.status).toBe(202);
    expect(response.headers.get('retry-after')).toBe('10');
    const links = (await response.json()) as Record<string, string>;
    expect(Object.keys(links).sort()).toEqual(
      [
        'id',
        'statusQueryGetUri',
        'sendEventPostUri',
        'terminatePostUri',
        'suspendPostUri',
        'resumePostUri',
        'rewindPostUri',
        'restartPostUri',
        'purgeHistoryDeleteUri',
      ].sort(),
    );
    expect(response.headers.get('location')).toBe(links.statusQueryGetUri);
    expect((await ended(host, links.id ?? '')).runtimeStatus).toBe('Completed');
    expect((await fetch(links.statusQueryGetUri ?? '')).status).toBe(200);
  });

  test('shows the history, with results on request', async () => {
    const id = await start(host, 'sequence');
    const { historyEvents = [] } = await ended(host, id, 'showHistory=true&showHistoryOutput=true');
    expect(historyEvents.map(({ EventType }) => EventType)).toEqual([
      'ExecutionStarted',
      'TaskScheduled',
      'TaskCompleted',
      'TaskScheduled',
      'TaskCompleted',
      'TaskScheduled',
      'TaskCompleted',
      'ExecutionCompleted',
    ]);
    expect(historyEvents.find(({ TaskScheduledId }) => TaskScheduledId === 0)?.Result).toBe(3);
  });

  test('answers 404 for unknown instances, and an error for unknown orchestrators', async () => {
    expect((await fetch(webhook(host, 'instances/none'))).status).toBe(404);
    await expect(clientCall(host, 'getStatus', 'none')).rejects.toThrow(/404/);
    await expect(clientCall(host, 'raiseEvent', 'none', 'e', 1)).rejects.toThrow(
      "No instance with ID 'none' found.",
    );
    await expect(clientCall(host, 'terminate', 'none', 'r')).rejects.toThrow(
      "No instance with ID 'none' found.",
    );
    await expect(start(host, 'noSuchOrchestrator')).rejects.toThrow(/not an orchestrator function/);
  });

  test('lists by status and prefix, purges finished instances', async () => {
    for (const id of ['list-1', 'list-2']) await start(host, 'sequence', id, id);
    await start(host, 'approval', null, 'list-3');
    for (const id of ['list-1', 'list-2']) await ended(host, id);
    const list = async (query: string) => {
      const response = await fetch(webhook(host, `instances?instanceIdPrefix=list-&${query}`));
      return ((await response.json()) as { instanceId: string }[]).map(({ instanceId }) => instanceId);
    };
    expect(await list('runtimeStatus=Completed')).toEqual(['list-1', 'list-2']);
    expect(await list('')).toEqual(['list-1', 'list-2', 'list-3']);
    expect(await clientCall(host, 'purgeInstanceHistory', 'list-1')).toEqual({ instancesDeleted: 1 });
    await expect(clientCall(host, 'getStatus', 'list-1')).rejects.toThrow(/404/);
    expect((await fetch(webhook(host, 'instances/list-3'), { method: 'DELETE' })).status).toBe(412);
    expect(await list('')).toEqual(['list-2', 'list-3']);
  });

  test('unsupported operations answer 501', async () => {
    const rewind = await fetch(webhook(host, 'instances/any/rewind'), { method: 'POST' });
    expect(rewind.status).toBe(501);
    expect(await rewind.text()).toContain('rewind');
    expect((await fetch(webhook(host, 'entities/counter/a'))).status).toBe(501);
  });
});
