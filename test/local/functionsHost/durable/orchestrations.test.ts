import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { HostProcess } from '../../../support/functionsHostProcess.ts';
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
  test('one after the other; one that returns nothing yields null', async () => {
    const id = await start(host, 'sequence', 'hello');
    expect((await ended(host, id)).output).toEqual({ sum: 3, text: 'text', none: null, input: 'hello', id });
  });

  test('side by side: each result once, in the order of the calls', async () => {
    const output = Array.from({ length: 12 }, () => 'only');
    expect(await run('fanOut', { count: 12, ms: 5 })).toEqual({ runtimeStatus: 'Completed', output });
  });

  test('a failure reaches the orchestrator with its message', async () => {
    expect((await run('catches')).output).toMatch(/^Activity function 'explode' failed: boom/);
  });

  test('a retried activity succeeds on its third try, and the numbers behind it still fit', async () => {
    expect(await run('retries', { key: 'a', attempts: 3 })).toEqual({
      runtimeStatus: 'Completed',
      output: 4,
    });
  });

  test('retries end', async () => {
    const { runtimeStatus, output } = await run('retries', { key: 'b', attempts: 2 });
    expect(runtimeStatus).toBe('Failed');
    expect(output).toMatch(
      /^Orchestrator function 'retries' failed: Activity function 'failTwice' failed: try 2/,
    );
  });

  test('payloads that fit into no queue message and no table property', async () => {
    expect((await run('large')).output).toEqual({ text: 'x'.repeat(200_000) });
  });
});

describe('orchestrations', () => {
  test('a failed one keeps its custom status', async () => {
    const status = await ended(host, await start(host, 'fails'));
    expect(status).toMatchObject({ runtimeStatus: 'Failed', customStatus: 'before the end' });
  });

  test('a thrown error is the output', async () => {
    expect(await run('throws')).toEqual({
      runtimeStatus: 'Failed',
      output: "Orchestrator function 'throws' failed: thrown by the orchestrator",
    });
  });

  test('a durable timer', async () => {
    const { output } = await run('timer', { ms: 700 });
    expect(output).toBeGreaterThanOrEqual(700);
  });

  test('the first of two, the other cancelled', async () => {
    expect((await run('race')).output).toBe(43);
  });

  test('continueAsNew: status shows the last input', async () => {
    const status = await ended(host, await start(host, 'countDown', { left: 3, total: 0 }));
    expect(status).toMatchObject({ output: 6, input: { left: 1, total: 5 } });
  });

  test('sub-orchestrations: results, a given id, a failure', async () => {
    const id = await start(host, 'parent');
    expect((await ended(host, id)).output).toMatchObject({
      children: [13, { input: 'from the parent', id: `${id}-child` }],
      error: expect.stringContaining("Orchestrator function 'throws' failed"),
    });
  });

  test('what is not supported fails by name', async () => {
    expect((await run('callsHttp')).output).toMatch(/callHttp is not supported/);
    expect((await run('callsUnknown')).output).toMatch(/'noSuchActivity' doesn't exist/);
  });
});

describe('events and control', () => {
  test('events wait for who waits for them, and custom status shows', async () => {
    const id = await start(host, 'approval');
    await clientCall(host, 'raiseEvent', id, 'approve', { by: 'a' });
    await clientCall(host, 'raiseEvent', id, 'approve', { by: 'b' });
    const status = await ended(host, id);
    expect(status.output).toHaveLength(2);
    expect(status.output).toEqual(expect.arrayContaining([{ by: 'a' }, { by: 'b' }]));
    expect(status.customStatus).toEqual({ waiting: false });
  });

  test('suspended, it takes no event; resumed, it does', async () => {
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

  test('a finished id may start anew, a running one answers 409', async () => {
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
  test('a start answers 202 with where to look', async () => {
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

  test('history, with results where asked for', async () => {
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

  test('unknown instances and orchestrators', async () => {
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

  test('lists by status and prefix, purges what is over', async () => {
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

  test('what is missing says so', async () => {
    const rewind = await fetch(webhook(host, 'instances/any/rewind'), { method: 'POST' });
    expect(rewind.status).toBe(501);
    expect(await rewind.text()).toContain('rewind');
    expect((await fetch(webhook(host, 'entities/counter/a'))).status).toBe(501);
  });
});
