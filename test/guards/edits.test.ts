import { stripTypeScriptTypes } from 'node:module';
import { expect, test } from 'vitest';
import { type Edit, edited } from './edits.ts';

const after = (text: string, ...edits: Edit[]) => edited([{ file: 'a.ts', text }], edits)[0]?.text;

test('a function gets another body, wherever it is', () => {
  const text =
    'export async function a({ b = ")" }: { b: string }): Promise<{\n  c: 1;\n}> {\n  return c;\n}\n';
  expect(after(text, { of: 'a', body: 'return 2;' })).toBe(
    text.replace('{\n  return c;\n}', '{ return 2; }'),
  );
  const method = 'const o = { async a() { return 1; }, b: { c: 2 } };';
  expect(after(method, { of: 'a', body: 'return 2;' })).toContain('async a() { return 2; }');
  expect(after('const a = (b: number) => b + 1;', { of: 'a', body: 'return b;' })).toBe(
    'const a = (b: number) => { return b; };',
  );
});

test('the other body may call what the function was', async () => {
  const text =
    'export const o = { async a(n: number) { return n + 1; } };\nexport function* b() { yield 1; }';
  const changed = after(
    text,
    { of: 'a', body: 'return 10 * (await original(...arguments));' },
    { of: 'b', body: 'yield* original(); yield 2;' },
  );
  const { o, b } = (await import(
    `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(changed ?? ''))}`
  )) as {
    o: { a: (n: number) => Promise<number> };
    b: () => Iterable<number>;
  };
  expect(await o.a(2)).toBe(30);
  expect([...b()]).toEqual([1, 2]);
});

test('a name at the top level comes before one inside, and a path tells those inside apart', () => {
  const text =
    'function a() { const c = () => 1; }\nfunction b() { const c = () => 2; function d() {} }\nfunction d() {}';
  expect(after(text, { of: 'b.c', body: '3' })).toContain('function b() { const c = () => { 3 };');
  expect(after(text, { of: 'd', body: '4' })).toMatch(/function d\(\) \{ 4 \}$/);
  expect(() => after(text, { of: 'c', body: '' })).toThrow('function c occurs 2 times: a.ts > a, a.ts > b');
  expect(() => after(text, { of: 'a.d', body: '' })).toThrow('there is no function a.d');
});

test('of two with the same name, one is told by what is beside it', () => {
  const sources = [
    { file: 'a.ts', text: 'function a() {}\nfunction b() {}' },
    { file: 'c.ts', text: 'function a() {}\nfunction c() { function b() {} }' },
  ];
  expect(() => edited(sources, [{ of: 'a', body: '' }])).toThrow('function a occurs 2 times: a.ts, c.ts');
  expect(edited(sources, [{ of: 'a', beside: 'b', body: '1' }])).toEqual([
    { file: 'a.ts', text: 'function a() { 1 }\nfunction b() {}' },
  ]);
});

test('a constant gets another value', () => {
  const text = 'const limits = { a: 1 };\nconst b: number = 30 * 60;\nconst c = () => 1;';
  expect(after(text, { of: 'b', value: '0' })).toBe(text.replace('30 * 60', '0'));
  expect(() => after(text, { of: 'c', value: '0' })).toThrow('there is no constant c');
  expect(() => after(text, { of: 'b', body: '' })).toThrow('there is no function b');
});

test('a text that does not occur exactly once is an error', () => {
  const edit = { file: 'a.ts', from: 'a', to: 'c' };
  expect(after('b a', edit)).toBe('b c');
  expect(() => after('a b a', edit)).toThrow('"a" occurs 2 times in a.ts');
  expect(() => after('b', edit)).toThrow('"a" occurs 0 times in a.ts');
  expect(() => edited([], [edit])).toThrow('there is no a.ts');
});
