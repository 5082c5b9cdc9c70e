import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { edited } from '../guards/edits.ts';
import { outOfSight } from './sabotage/blind.ts';
import { catalogue, sabotageNamed } from './sabotage/catalogue.ts';

describe('every fault that can be put into the app, and every guard that is switched off, fits the app as it is', () => {
  test.each(catalogue)('$name', async ({ edits }) => {
    for (const [file, own] of Map.groupBy(edits, (edit) => edit.file)) {
      const text = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
      expect(edited(text, own)).not.toBe(text);
    }
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

test('a function gets another body, wherever it is', () => {
  const text =
    'export async function a({ b = ")" }: { b: string }): Promise<{\n  c: 1;\n}> {\n  return c;\n}\n';
  expect(edited(text, [{ inFunction: 'a', body: 'return 2;' }])).toBe(
    text.replace('{\n  return c;\n}', '{ return 2; }'),
  );
  const method = 'const o = { async a() { return 1; }, b: { a: 2 } };';
  expect(edited(method, [{ inFunction: 'a', body: 'return 2;' }])).toContain('async a() { return 2; }');
  expect(() => edited(text, [{ inFunction: 'd', body: '' }])).toThrow('function d occurs 0 times');
  expect(() => edited(text + text, [{ inFunction: 'a', body: '' }])).toThrow('function a occurs 2 times');
});

test('a text that does not occur exactly once is an error', () => {
  expect(() => edited('a b a', [{ from: 'a', to: 'c' }])).toThrow('"a" occurs 2 times');
  expect(() => edited('a b a', [{ from: 'c', to: 'd' }])).toThrow('"c" occurs 0 times');
});
