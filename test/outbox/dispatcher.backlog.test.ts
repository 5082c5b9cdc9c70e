import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createBacklog } from '../../src/outbox/dispatcher.ts';
import type { DispatchDecision } from '../../src/outbox/outboxMessage.ts';
import { newOutboxMessage } from '../../src/outbox/outboxMessage.ts';
import { virtualClock } from '../support/virtualClock.ts';

const message = (id: string) => newOutboxMessage({ id, shard: '00', destination: 'work-items', body: [] }, 0);

/** A dispatcher whose sends end when the test tells them to. */
function slowDispatcher() {
  const sends = new Map<string, (decision: DispatchDecision) => void>();
  return {
    sends,
    dispatcher: {
      dispatch: ({ id }: { id: string }) =>
        new Promise<DispatchDecision>((resolve) => void sends.set(id, resolve)),
    },
  };
}

test('messages added during urgent work are dispatched when the last of that work ends', () => {
  const { sends, dispatcher } = slowDispatcher();
  const backlog = createBacklog(dispatcher, virtualClock());
  const [first, second] = [backlog.busy(), backlog.busy()];
  backlog.add(message('a'));
  first[Symbol.dispose]();
  expect([...sends.keys()]).toEqual([]);
  second[Symbol.dispose]();
  backlog.add(message('b'));
  expect([...sends.keys()]).toEqual(['a', 'b']);
});

test('drained waits for sends in flight and for messages still queued', async () => {
  const { sends, dispatcher } = slowDispatcher();
  const clock = virtualClock();
  const backlog = createBacklog(dispatcher, clock);
  backlog.add(message('a'));
  using _busy = backlog.busy();
  backlog.add(message('b'));
  let drained = false;
  const draining = backlog.drained(10_000).then(() => (drained = true));
  sends.get('a')?.({ kind: 'dispatched' });
  await clock.advance(1);
  expect(drained).toBe(false);
  sends.get('b')?.({ kind: 'dispatched' });
  await draining;
  expect(clock.sleepers()).toBe(0);
});

test('drained does not wait forever for a send that never ends', async () => {
  const { dispatcher } = slowDispatcher();
  const clock = virtualClock();
  const backlog = createBacklog(dispatcher, clock);
  backlog.add(message('a'));
  const draining = backlog.drained(10_000);
  await clock.advance(10_000);
  await draining;
});

test('dispatched messages are not kept in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const { sends, dispatcher } = slowDispatcher();
  const backlog = createBacklog(dispatcher, virtualClock());
  const decided = ['a', 'b'].map((id) => {
    backlog.add(message(id));
    const decision: DispatchDecision = { kind: 'dispatched' };
    sends.get(id)?.(decision);
    return new WeakRef(decision);
  });
  sends.clear();
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(decided.map((decision) => decision.deref())).toEqual([undefined, undefined]);
  await backlog.drained(1);
});

test('messages do not wait for longer than five seconds, however long urgent work goes on', async () => {
  const { sends, dispatcher } = slowDispatcher();
  const clock = virtualClock();
  const backlog = createBacklog(dispatcher, clock);
  using _busy = backlog.busy();
  backlog.add(message('a'));
  await clock.advance(4_999);
  backlog.add(message('b'));
  expect([...sends.keys()]).toEqual([]);
  await clock.advance(1);
  backlog.add(message('c'));
  expect([...sends.keys()]).toEqual(['a', 'b', 'c']);
  backlog.add(message('d'));
  expect([...sends.keys()]).toEqual(['a', 'b', 'c']);
});
