import { expect, test } from 'vitest';
import { type StoryParts, storyOf } from '../../local/demo/story.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
const twoHours = 2 * 3_600_000;
const lost = { what: 'Provider loses answers', of: 'lost' };
const parts: StoryParts = {
  sentAt: at(10),
  timeline: [
    { at: at(10), what: 'imported', by: 'host-1' },
    { at: at(14), what: 'paid', by: 'host-1' },
  ],
  seen: [{ at: at(12), what: 'call', by: 'host-1' }],
  world: [],
  goesOn: false,
  clockBackMs: -twoHours,
};
const told = (changed: Partial<StoryParts>) =>
  storyOf({ ...parts, ...changed }).map(({ at: time, what }) => `${time.slice(17, 19)} ${what}`);

test('a fault that began before the invoice and had not ended is part of its story, one that had ended is not', () => {
  const world = [
    { at: at(1), what: 'Lease: off', of: 'Lease', begins: true },
    { at: at(2), ...lost, begins: true },
    { at: at(3), what: 'is frozen', by: 'host-2', of: 'host-2', begins: true },
    { at: at(4), ...lost, begins: false },
    { at: at(5), what: 'Kill', by: 'host-3' },
    { at: at(6), what: 'is gone', by: 'host-2', of: 'host-2', begins: true },
  ];
  expect(told({ world })).toEqual(['01 Lease: off', '06 is gone', '10 imported', '12 call', '14 paid']);
});

test('a fault after the last event is part of the story while the invoice goes on', () => {
  const world = [
    { at: at(13), what: 'Kill', by: 'host-1' },
    { at: at(20), ...lost, begins: true },
  ];
  expect(told({ world })).toEqual(['10 imported', '12 call', '13 Kill', '14 paid']);
  expect(told({ world, goesOn: true }).at(-1)).toBe('20 Provider loses answers');
});

test('entries by a clock that was two hours back stand where they belong, and say so', () => {
  const timeline = [
    { at: at(10 - 7200), what: 'imported', by: 'host-1' },
    { at: at(11 - 7200), what: 'claimed', by: 'host-1' },
    { at: at(14), what: 'paid', by: 'host-2' },
  ];
  const world = [{ at: at(9), what: 'Kill', by: 'host-3' }];
  expect(told({ timeline, world })).toEqual([
    '10 imported, by a clock that was two hours back',
    '11 claimed, by a clock that was two hours back',
    '12 call',
    '14 paid',
  ]);
});

test('an invoice of which nothing is known yet has the faults that are in force', () => {
  const world = [{ at: at(2), ...lost, begins: true }];
  expect(told({ timeline: [], seen: [], world, goesOn: true })).toEqual(['02 Provider loses answers']);
});
