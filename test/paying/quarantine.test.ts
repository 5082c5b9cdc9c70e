import { expect, test } from 'vitest';
import { createQuarantine } from '../../src/paying/quarantine.ts';
import { virtualClock } from '../support/virtualClock.ts';

const minute = 60_000;

test('one at a time: the next is let in when the one before has ended', async () => {
  const quarantine = createQuarantine(virtualClock());
  const order: string[] = [];
  const first = await quarantine.enter({ attempt: 2, before: minute });
  const second = quarantine.enter({ attempt: 2, before: minute }).then((place) => {
    order.push('second in');
    return place;
  });
  await Promise.resolve();
  order.push('first ends');
  first?.[Symbol.dispose]();
  expect(await second).toBeDefined();
  expect(order).toEqual(['first ends', 'second in']);
});

test('of those that wait, what was tried least often goes first, then what came first', async () => {
  const quarantine = createQuarantine(virtualClock());
  const first = await quarantine.enter({ attempt: 2, before: minute });
  const order: string[] = [];
  const waiting = [5, 3, 2, 3].map(async (attempt, n) => {
    using _place = await quarantine.enter({ attempt, before: minute });
    order.push(`${attempt} (${n})`);
  });
  first?.[Symbol.dispose]();
  await Promise.all(waiting);
  expect(order).toEqual(['2 (2)', '3 (1)', '3 (3)', '5 (0)']);
});

test('a payment that has waited too long is not let in, and holds up nobody', async () => {
  const clock = virtualClock();
  const quarantine = createQuarantine(clock);
  const first = await quarantine.enter({ attempt: 2, before: minute });
  const late = quarantine.enter({ attempt: 2, before: clock.monotonic() + 1_000 });
  const patient = quarantine.enter({ attempt: 3, before: clock.monotonic() + 10_000 });
  await clock.advance(1_000);
  expect(await late).toBeUndefined();
  first?.[Symbol.dispose]();
  expect(await patient).toBeDefined();
  await clock.advance(minute);
  const last = quarantine.enter({ attempt: 2, before: clock.monotonic() });
  await clock.advance(0);
  expect(await last).toBeUndefined();
});
