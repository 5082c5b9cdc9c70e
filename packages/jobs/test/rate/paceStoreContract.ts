import { expect, test } from 'vitest';
import type { PaceStore } from '../../src/rate/paceStore.ts';
import { newSchedule } from '../../src/rate/schedule.ts';

/** Tests the behaviour of a store of schedules. `open` gives an empty one. */
export function paceStoreContract(open: () => Promise<PaceStore>): void {
  const now = 1_700_000_000_000.25;
  const first = newSchedule(25, now);

  test('a schedule that nobody created is not there', async () => {
    const store = await open();
    expect(await store.read('charges')).toBeUndefined();
    expect(await store.change('charges', { where: { epoch: 1 }, set: { at: 1 } })).toBeUndefined();
  });

  test('the first one to create a schedule wins; each limit has its own', async () => {
    const store = await open();
    await store.create('charges', first);
    await store.create('charges', newSchedule(99, now));
    await store.create('lookups', newSchedule(20, now));
    expect(await store.read('charges')).toMatchObject(first);
    expect(await store.read('lookups')).toMatchObject({ pace: 20 });
  });

  test('a change adds and sets in one step, and returns what it made', async () => {
    const store = await open();
    await store.create('charges', first);
    const changed = await store.change('charges', {
      where: { epoch: 1, nextFrom: now, atUntil: now },
      add: { next: 480.5, 'window.answered': 3, 'window.refused': 0 },
      set: { at: now + 7, holdUntil: now + 9 },
    });
    const expected = {
      ...first,
      next: now + 480.5,
      at: now + 7,
      holdUntil: now + 9,
      window: { ...first.window, answered: 3 },
    };
    expect(changed).toMatchObject(expected);
    expect(await store.read('charges')).toMatchObject(expected);
  });

  test('what is added to a field that is not there begins at zero', async () => {
    const store = await open();
    await store.create('charges', first);
    const change = { where: { epoch: 1 }, add: { 'window.reserved': 1, 'window.ahead': 70 } };
    await store.change('charges', change);
    expect(await store.change('charges', change)).toMatchObject({ window: { reserved: 2, ahead: 140 } });
  });

  test.each([
    ['another epoch', { epoch: 2 }],
    ['a later next', { epoch: 1, nextFrom: now + 0.5 }],
    ['an earlier next', { epoch: 1, nextBefore: now }],
    ['an earlier at', { epoch: 1, atUntil: now - 0.5 }],
    ['another window', { epoch: 1, windowSince: now + 1 }],
  ])('a condition that does not hold changes nothing: %s', async (_, where) => {
    const store = await open();
    await store.create('charges', first);
    expect(await store.change('charges', { where, add: { next: 1 }, set: { at: 1 } })).toBeUndefined();
    expect(await store.read('charges')).toMatchObject(first);
  });

  test('conditions that hold at their very bounds', async () => {
    const store = await open();
    await store.create('charges', first);
    const where = { epoch: 1, nextFrom: now, nextBefore: now + 0.5, atUntil: now, windowSince: now };
    expect(await store.change('charges', { where, set: { at: now + 1 } })).toMatchObject({ at: now + 1 });
  });

  test('changes at the same time are all applied', async () => {
    const store = await open();
    await store.create('charges', first);
    const changed = await Promise.all(
      Array.from({ length: 20 }, () =>
        store.change('charges', { where: { epoch: 1 }, add: { next: 40 }, set: { at: now } }),
      ),
    );
    const ends = changed.map((schedule) => Math.round((schedule?.next ?? 0) - now));
    expect(ends.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => 40 * (n + 1)));
  });
}
