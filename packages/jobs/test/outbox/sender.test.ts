import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { virtualClock } from '../../../../test/support/virtualClock.ts';
import { createSender } from '../../src/outbox/dispatcher.ts';
import { type DispatchDecision, newOutboxMessage } from '../../src/outbox/messageMoves.ts';

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
  const sender = createSender(dispatcher, virtualClock());
  const [first, second] = [sender.busy(), sender.busy()];
  sender.sendWhenIdle(message('a'));
  first[Symbol.dispose]();
  expect([...sends.keys()]).toEqual([]);
  second[Symbol.dispose]();
  sender.sendWhenIdle(message('b'));
  expect([...sends.keys()]).toEqual(['a', 'b']);
});

test('drained waits for sends in flight and for messages still queued', async () => {
  const { sends, dispatcher } = slowDispatcher();
  const clock = virtualClock();
  const sender = createSender(dispatcher, clock);
  sender.sendWhenIdle(message('a'));
  using _busy = sender.busy();
  sender.sendWhenIdle(message('b'));
  let drained = false;
  const draining = sender.drained(10_000).then(() => (drained = true));
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
  const sender = createSender(dispatcher, clock);
  sender.sendWhenIdle(message('a'));
  const draining = sender.drained(10_000);
  await clock.advance(10_000);
  await draining;
});

test('dispatched messages are not kept in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const { sends, dispatcher } = slowDispatcher();
  const sender = createSender(dispatcher, virtualClock());
  const decided = ['a', 'b'].map((id) => {
    sender.sendWhenIdle(message(id));
    const decision: DispatchDecision = { kind: 'dispatched' };
    sends.get(id)?.(decision);
    return new WeakRef(decision);
  });
  sends.clear();
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(decided.map((decision) => decision.deref())).toEqual([undefined, undefined]);
  await sender.drained(1);
});

test('messages do not wait for longer than five seconds, however long urgent work goes on', async () => {
  const { sends, dispatcher } = slowDispatcher();
  const clock = virtualClock();
  const sender = createSender(dispatcher, clock);
  using _busy = sender.busy();
  sender.sendWhenIdle(message('a'));
  await clock.advance(4_999);
  sender.sendWhenIdle(message('b'));
  expect([...sends.keys()]).toEqual([]);
  await clock.advance(1);
  sender.sendWhenIdle(message('c'));
  expect([...sends.keys()]).toEqual(['a', 'b', 'c']);
  sender.sendWhenIdle(message('d'));
  expect([...sends.keys()]).toEqual(['a', 'b', 'c']);
});
