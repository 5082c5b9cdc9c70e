import { expect, test } from 'vitest';
import { conclude } from './conclusion.ts';
import type { Scenario, Verdict } from './trial.ts';

const scenario: Scenario = { name: 'one-invoice', invoices: 1, hosts: 1 };
const racing: Scenario = { name: 'two-hosts', invoices: 1, hosts: 2, races: true };
const held: Verdict = { kind: 'held' };
const notReached: Verdict = { kind: 'notReached' };
const broken: Verdict = { kind: 'broken', problems: ['x'] };
const passed = (of: Scenario, ...verdicts: Verdict[]) =>
  conclude(verdicts.map((verdict) => ({ scenario: of, verdict }))).passed;

test('a sweep passes when every point held', () => {
  expect(passed(scenario, held, held)).toBe(true);
});

test('a sweep that found or reached no point fails', () => {
  expect(conclude([])).toEqual({
    text: '0 crash points: 0 held, 0 broken, 0 not reached.\nNo crash point was tried.',
    passed: false,
  });
  expect(passed(racing, notReached)).toBe(false);
});

test('a sweep fails when a point is broken, even where races decide', () => {
  expect(passed(scenario, held, broken)).toBe(false);
  expect(passed(racing, held, broken)).toBe(false);
});

test('an unreached point is allowed only where races decide, and is reported', () => {
  expect(passed(scenario, held, notReached)).toBe(false);
  expect(passed(racing, held, notReached)).toBe(true);
  const both = conclude([
    { scenario: racing, verdict: held },
    { scenario: racing, verdict: notReached },
  ]);
  expect(both.text).toContain(
    '1 of those not reached are in two-hosts, where races decide: that is allowed.',
  );
});
