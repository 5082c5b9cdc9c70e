import { setTimeout as delay } from 'node:timers/promises';
import { app, type HttpRequest } from '@azure/functions';
import * as df from 'durable-functions';

const tries = new Map<string, number>();

df.app.activity('add', { handler: ({ a, b }: { a: number; b: number }) => a + b });
df.app.activity('echo', { handler: (input: unknown) => input });
df.app.activity('nothing', { handler: () => undefined });
df.app.activity('explode', {
  handler: (message: string) => {
    throw new Error(message);
  },
});
df.app.activity('failTwice', {
  handler: (key: string) => {
    const count = (tries.get(key) ?? 0) + 1;
    tries.set(key, count);
    if (count <= 2) throw new Error(`try ${count}`);
    return count;
  },
});
df.app.activity('slow', {
  handler: async (ms: number) => {
    await delay(ms);
    return process.env.INSTANCE_ID;
  },
});

df.app.orchestration('sequence', function* (context) {
  const { df: durable } = context;
  const sum: number = yield durable.callActivity('add', { a: 1, b: 2 });
  const text: string = yield durable.callActivity('echo', 'text');
  const none: unknown = yield durable.callActivity('nothing');
  return { sum, text, none, input: durable.getInput(), id: durable.instanceId };
});

df.app.orchestration('fanOut', function* (context) {
  const { count, ms } = context.df.getInput<{ count: number; ms: number }>();
  const tasks = Array.from({ length: count }, () => context.df.callActivity('slow', ms));
  return yield context.df.Task.all(tasks);
});

df.app.orchestration('catches', function* (context) {
  try {
    yield context.df.callActivity('explode', 'boom');
    return 'not reached';
  } catch (error) {
    return (error as Error).message;
  }
});

df.app.orchestration('fails', function* (context) {
  context.df.setCustomStatus('before the end');
  yield context.df.callActivity('explode', 'boom');
});

df.app.orchestration('throws', function* (context) {
  yield context.df.callActivity('nothing');
  throw new Error('thrown by the orchestrator');
});

df.app.orchestration('retries', function* (context) {
  const { key, attempts } = context.df.getInput<{ key: string; attempts: number }>();
  const options = new df.RetryOptions(10, attempts);
  const result: number = yield context.df.callActivityWithRetry('failTwice', options, key);
  const after: number = yield context.df.callActivity('add', { a: result, b: 1 });
  return after;
});

df.app.orchestration('timer', function* (context) {
  const { ms } = context.df.getInput<{ ms: number }>();
  const start = context.df.currentUtcDateTime.getTime();
  yield context.df.createTimer(new Date(start + ms));
  return context.df.currentUtcDateTime.getTime() - start;
});

df.app.orchestration('race', function* (context) {
  const deadline = context.df.createTimer(new Date(context.df.currentUtcDateTime.getTime() + 3_600_000));
  const answer = context.df.callActivity('add', { a: 20, b: 22 });
  const winner: df.Task = yield context.df.Task.any([answer, deadline]);
  if (winner === answer) deadline.cancel();
  const after: number = yield context.df.callActivity('add', { a: answer.result as number, b: 1 });
  return after;
});

df.app.orchestration('approval', function* (context) {
  context.df.setCustomStatus({ waiting: true });
  const first: unknown = yield context.df.waitForExternalEvent('approve');
  const second: unknown = yield context.df.waitForExternalEvent('approve');
  context.df.setCustomStatus({ waiting: false });
  return [first, second];
});

df.app.orchestration('countDown', function* (context) {
  const { left, total } = context.df.getInput<{ left: number; total: number }>();
  const sum: number = yield context.df.callActivity('add', { a: total, b: left });
  if (left > 1) context.df.continueAsNew({ left: left - 1, total: sum });
  return sum;
});

df.app.orchestration('parent', function* (context) {
  const children: unknown = yield context.df.Task.all([
    context.df.callSubOrchestrator('countDown', { left: 2, total: 10 }),
    context.df.callSubOrchestrator('sequence', 'from the parent', `${context.df.instanceId}-child`),
  ]);
  try {
    yield context.df.callSubOrchestrator('throws');
  } catch (error) {
    return { children, error: (error as Error).message };
  }
  return 'not reached';
});

df.app.orchestration('large', function* (context) {
  const text = 'x'.repeat(200_000);
  const back: string = yield context.df.callActivity('echo', { text });
  return back;
});

df.app.orchestration('callsHttp', function* (context) {
  yield context.df.callHttp({ method: 'GET', url: 'http://127.0.0.1:9/' });
});

df.app.orchestration('callsUnknown', function* (context) {
  yield context.df.callActivity('noSuchActivity');
});

/** POST {method, args}: runs a method of the SDK's client. */
app.http('client', {
  route: 'client',
  methods: ['POST'],
  authLevel: 'anonymous',
  extraInputs: [df.input.durableClient()],
  handler: async (request: HttpRequest, context) => {
    const { method, args } = (await request.json()) as { method: string; args: unknown[] };
    const client = df.getClient(context);
    try {
      const call = Reflect.get(client, method) as (...values: unknown[]) => Promise<unknown>;
      return { jsonBody: { value: (await call.apply(client, args)) ?? null } };
    } catch (error) {
      return { jsonBody: { error: (error as Error).message } };
    }
  },
});

app.http('start', {
  route: 'start/{name}',
  methods: ['POST'],
  authLevel: 'anonymous',
  extraInputs: [df.input.durableClient()],
  handler: async (request: HttpRequest, context) => {
    const client = df.getClient(context);
    const id = await client.startNew(request.params.name ?? '', { input: await request.json() });
    return client.createCheckStatusResponse(request, id);
  },
});
