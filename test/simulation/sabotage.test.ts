import { describe, expect, test } from 'vitest';
import { edited, sourcesOf } from '../guards/edits.ts';
import { outOfSight } from './sabotage/blind.ts';
import { catalogue, sabotageNamed } from './sabotage/catalogue.ts';

describe('every fault that can be put into the app, and every guard that is switched off, fits the app as it is', () => {
  const sources = sourcesOf();

  test.each(catalogue)('$name', ({ edits }) => {
    const changed = edited(sources, edits);
    expect(changed.length).toBeGreaterThan(0);
    for (const { file, text } of changed)
      expect(text).not.toBe(sources.find((source) => source.file === file)?.text);
  });
});

test('faults have names of their own', () => {
  const names = catalogue.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(sabotageNamed(name).name).toBe(name);
});

test('what the simulation cannot see is named after a fault', () => {
  expect(Object.keys(outOfSight).filter((name) => !catalogue.some((one) => one.name === name))).toEqual([]);
});
